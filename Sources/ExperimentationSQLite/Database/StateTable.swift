import Experimentation
import Foundation
internal import GRDB

/// The table of everything that is not an event.
enum StateTable {
    /// The key under which the file's owner is recorded.
    static let account = "account"

    /// The value of a key.
    static func value(for key: String, _ database: Database) throws -> [UInt8]? {
        let statement = try database.cachedStatement(sql: "SELECT value FROM state WHERE key = ?")
        return try Data.fetchOne(statement, arguments: [key]).map { Array($0) }
    }

    /// Sets or removes a value; the row numbers follow the order of writing.
    static func set(_ value: Data?, for key: String, _ database: Database) throws {
        guard let value else {
            return try database.cachedStatement(sql: "DELETE FROM state WHERE key = ?").execute(arguments: [key])
        }
        try database.cachedStatement(sql: "INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)")
            .execute(arguments: [key, value])
    }

    /// Sets or removes a value if it is still what the caller has seen.
    static func update(
        _ key: String,
        to value: Data?,
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
        let statement = try database.cachedStatement(
            sql: "SELECT key FROM state WHERE key >= ? AND key < ? ORDER BY written"
        )
        return try String.fetchAll(statement, arguments: [prefix, prefix + end])
    }

    /// Removes the keys with a prefix.
    ///
    /// - Returns: How many were removed.
    static func removeAll(beginningWith prefix: String, _ database: Database) throws -> Int {
        try database.cachedStatement(sql: "DELETE FROM state WHERE key >= ? AND key < ?")
            .execute(arguments: [prefix, prefix + end])
        return database.changesCount
    }

    /// Sorts after any continuation of a key.
    private static let end = "\u{10FFFF}"
}
