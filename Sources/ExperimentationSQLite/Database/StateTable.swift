import Experimentation
import Foundation
internal import GRDB

/// The table of everything that is not an event.
enum StateTable {
    /// The key under which the file's owner is recorded.
    static let account = "account"

    /// The value of a key.
    static func value(for key: String, _ database: Database) throws -> [UInt8]? {
        let select = try HotStatement("SELECT value FROM state WHERE key = ?", database)
        defer { select.reset() }
        try select.bind(key, at: 1)
        guard try select.step() else { return nil }
        var value: [UInt8] = []
        select.append(0, to: &value)
        return value
    }

    /// Sets or removes a value; the row numbers follow the order of writing.
    static func set(_ value: [UInt8]?, for key: String, _ database: Database) throws {
        guard let value else {
            let delete = try HotStatement("DELETE FROM state WHERE key = ?", database)
            try delete.bind(key, at: 1)
            return try delete.run()
        }
        let insert = try HotStatement("INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)", database)
        try insert.bind(key, at: 1)
        try insert.bind(value, at: 2)
        try insert.run()
    }

    /// Sets or removes a value if it is still what the caller has seen.
    static func update(
        _ key: String,
        to value: [UInt8]?,
        if expected: [UInt8]?,
        _ database: Database
    ) throws -> StateUpdate {
        let current = try self.value(for: key, database)
        guard current == expected else { return .conflict(current) }
        try set(value, for: key, database)
        return .updated
    }

    /// The keys with a prefix, in the order of writing.
    static func keys(beginningWith prefix: String, _ database: Database) throws -> [String] {
        let select = try HotStatement("SELECT key FROM state WHERE key >= ? AND key < ? ORDER BY written", database)
        defer { select.reset() }
        try select.bind(prefix, at: 1)
        try select.bind(prefix + end, at: 2)
        var keys: [String] = []
        while try select.step() { keys.append(select.text(0)) }
        return keys
    }

    /// Removes the keys with a prefix.
    ///
    /// - Returns: How many were removed.
    static func removeAll(beginningWith prefix: String, _ database: Database) throws -> Int {
        let delete = try HotStatement("DELETE FROM state WHERE key >= ? AND key < ?", database)
        try delete.bind(prefix, at: 1)
        try delete.bind(prefix + end, at: 2)
        try delete.run()
        return delete.changes
    }

    /// Sorts after any continuation of a key.
    private static let end = "\u{10FFFF}"
}
