internal import GRDB

/// The tables, by version.
///
/// A version that was ever released is never edited; a new one is a step on top.
enum StoreSchema {
    /// The version that this code writes.
    static let version = 1

    /// Marks the file as ours: "XPMT".
    static let applicationID: Int32 = 0x5850_4D54

    private static let steps: [String] = [
        // Events are written once and deleted once; what happens to them in between stands in `attempt`, so that
        // leasing a hundred events doesn't rewrite a hundred bodies. The sequence is counted by us, without a gap:
        // the highest one ever given is the number of events ever accepted.
        """
        CREATE TABLE event (
            sequence INTEGER PRIMARY KEY,
            priority INTEGER NOT NULL,
            held INTEGER NOT NULL,
            kept INTEGER NOT NULL,
            date REAL NOT NULL,
            user TEXT NOT NULL,
            id TEXT NOT NULL,
            body BLOB NOT NULL
        ) STRICT;
        CREATE INDEX event_held ON event (user) WHERE held = 1;
        CREATE TABLE attempt (
            sequence INTEGER PRIMARY KEY,
            leased INTEGER NOT NULL,
            noted REAL NOT NULL,
            due REAL NOT NULL,
            attempts INTEGER NOT NULL,
            reason TEXT
        ) STRICT;
        CREATE TABLE ledger (
            name TEXT PRIMARY KEY,
            value INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE state (
            written INTEGER PRIMARY KEY,
            key TEXT NOT NULL UNIQUE,
            value BLOB NOT NULL
        ) STRICT;
        """
    ]

    /// Brings the tables to the newest version, step by step, in one transaction.
    ///
    /// - Throws: ``StoreFault/foreign`` and ``StoreFault/newer(version:)``; the file is left as it is then.
    static func migrate(_ database: Database) throws {
        let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        let mark = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
        let tables = try String.fetchSet(database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
        let isOurs = mark == applicationID || tables.isSuperset(of: ["event", "ledger", "state"])
        guard tables.isEmpty || isOurs else { throw StoreFault.foreign }
        guard found <= version else { throw StoreFault.newer(version: found) }
        guard found < version || mark != applicationID else { return }
        try database.inTransaction(.immediate) {
            // Read again: another process may have been quicker.
            let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
            for step in steps.dropFirst(max(0, found)) { try database.execute(sql: step) }
            try database.execute(sql: "PRAGMA user_version = 1")
            try database.execute(sql: "PRAGMA application_id = 1481657684")
            return .commit
        }
    }
}
