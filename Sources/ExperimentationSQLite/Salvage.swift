import Experimentation
import Foundation
internal import GRDB

/// What can still be read from a damaged store.
///
/// Events, and what else was kept, are read from both ends until a page stops it; the accounts are carried on, and what
/// they say was waiting but can't be read is counted as ``Ledger/DropReason/unreadable``.
struct Salvage {
    private struct Event {
        var sequence: Int64
        var arguments: StatementArguments
    }

    private var events: [Int64: Event] = [:]
    /// Values by key, with the order of their writing.
    private var values: [String: (written: Int64, value: Data)] = [:]
    private var accounts: [String: Int]?

    /// Reads a damaged database; finding nothing is a result too.
    init(path: String) {
        var configuration = Configuration()
        configuration.label = "ExperimentationSQLite.salvage"
        guard let database = try? DatabaseQueue(path: path, configuration: configuration) else { return }
        database.writeWithoutTransaction { database in
            accounts = try? Self.readAccounts(database)
            read(database, "SELECT * FROM event ORDER BY sequence")
            read(database, "SELECT * FROM event ORDER BY sequence DESC")
            readValues(database, "SELECT written, key, value FROM state ORDER BY written")
            readValues(database, "SELECT written, key, value FROM state ORDER BY written DESC")
        }
        try? database.close()
    }

    /// Whose events these are, as far as that can be read.
    var owner: [UInt8]? { values[StateTable.account].map { Array($0.value) } }

    private mutating func readValues(_ database: Database, _ sql: String) {
        guard let rows = try? Row.fetchCursor(database, sql: sql) else { return }
        while let row = try? rows.next() {
            guard let written = Int64.fromDatabaseValue(row[0]), let key = String.fromDatabaseValue(row[1]),
                let value = Data.fromDatabaseValue(row[2])
            else { continue }
            if let known = values[key], known.written >= written { continue }
            values[key] = (written, value)
        }
    }

    private static func readAccounts(_ database: Database) throws -> [String: Int] {
        let rows = try Row.fetchAll(database, sql: "SELECT name, value FROM ledger")
        var accounts: [String: Int] = [:]
        for row in rows {
            guard let name = String.fromDatabaseValue(row[0]), let value = Int.fromDatabaseValue(row[1]), value >= 0,
                value < 1 << 53
            else { throw StoreFault.damaged }
            accounts[name] = value
        }
        return accounts
    }

    private mutating func read(_ database: Database, _ sql: String) {
        guard let rows = try? Row.fetchCursor(database, sql: sql) else { return }
        while let row = try? rows.next() {
            guard let sequence = Int64.fromDatabaseValue(row["sequence"]), sequence > 0, sequence < 1 << 53,
                events[sequence] == nil,
                let priority = Int.fromDatabaseValue(row["priority"]), (0...2).contains(priority),
                let isHeld = Bool.fromDatabaseValue(row["held"]), let isKept = Bool.fromDatabaseValue(row["kept"]),
                let date = Double.fromDatabaseValue(row["date"]), date.isFinite,
                let user = String.fromDatabaseValue(row["user"]), let id = String.fromDatabaseValue(row["id"]),
                let body = Data.fromDatabaseValue(row["body"]),
                let envelope = try? EnvelopeCoding.decode(Array(body)), envelope.id == id
            else { continue }
            events[sequence] = Event(
                sequence: sequence,
                arguments: [sequence, priority, isHeld, isKept, date, user, id, body]
            )
        }
    }

    /// Writes what was read into a new store, with accounts that balance.
    func write(to database: Database) throws {
        try database.inTransaction(.immediate) {
            for event in events.values.sorted(by: { $0.sequence < $1.sequence }) {
                try database.cachedStatement(
                    sql: """
                        INSERT INTO event (sequence, priority, held, kept, date, user, id, body)
                        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                        """
                ).execute(arguments: event.arguments)
            }
            // What was cached carries its own proof against damage, and the reader looks at it.
            for (key, kept) in values.sorted(by: { $0.value.written < $1.value.written }) {
                try StateTable.set(kept.value, for: key, database)
            }
            for (name, value) in balanced() {
                try database.cachedStatement(sql: "INSERT INTO ledger (name, value) VALUES (?, ?)")
                    .execute(arguments: [name, value])
            }
            return .commit
        }
    }

    private func balanced() -> [String: Int] {
        let highest = Int(clamping: events.keys.max() ?? 0)
        guard var accounts else {
            // Nothing is known of earlier events: the accounts begin with those that were read.
            return ["sequence": highest, "offset": highest - events.count, "quarantined": 1]
        }
        let gone = accounts.filter { !["sequence", "offset", "quarantined"].contains($0.key) }.values.reduce(0, +)
        let offset = accounts["offset", default: 0]
        let accepted = max(highest, accounts["sequence", default: 0]) - offset
        let missing = accepted - gone - events.count
        accounts["quarantined", default: 0] += 1
        if missing > 0 { accounts[Ledger.DropReason.unreadable.rawValue, default: 0] += missing }
        accounts["sequence"] = max(accepted, gone + events.count) + offset
        return accounts
    }
}
