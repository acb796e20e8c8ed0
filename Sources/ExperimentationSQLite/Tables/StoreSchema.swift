import Foundation
internal import GRDB

/// The tables, by version.
///
/// A released version is never edited; a new one is a step on top.
enum StoreSchema {
    /// The version that this code writes.
    static let version = 3

    /// Marks the file as this library's: "XPMT".
    static let applicationID: Int32 = 0x5850_4D54

    private static let steps: [String] = [
        // Events are written once and deleted once; what happens to them in between is in `attempt`, so that leasing a
        // hundred events doesn't rewrite a hundred bodies. The store assigns the sequence without gaps: the highest one
        // ever assigned is the number of events ever accepted.
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
        """,
        // A lease is a range of events, because events delivered together are mostly consecutive: one row for a batch,
        // not one for each of its events. `attempt` is only for those that were tried unsuccessfully.
        """
        CREATE TABLE lease (
            first INTEGER PRIMARY KEY,
            last INTEGER NOT NULL,
            owner INTEGER NOT NULL,
            noted REAL NOT NULL,
            due REAL NOT NULL
        ) STRICT;
        INSERT INTO lease (first, last, owner, noted, due)
        SELECT sequence, sequence, 0, noted, due FROM attempt WHERE leased = 1;
        DELETE FROM attempt WHERE leased = 1 AND attempts = 0 AND reason IS NULL;
        UPDATE attempt SET due = 0 WHERE leased = 1;
        ALTER TABLE attempt DROP COLUMN leased;
        """,
        // An event is written once and owed to each of its destinations by a narrow row of its own, which is all that a
        // delivery touches. The latest events, those after `through`, don't have these rows yet: `owed` says to whom
        // they are owed, two bits per destination, and `kept` and `user` hold the future contents of the rows. A
        // destination is also a lane: who delivers it, and its ledger. Up to `head`, deliveries that aren't held have
        // been made and counted, although their rows may still exist. A file of an earlier version names at most the
        // account that owns its events; they belong to the first destination that fits.
        """
        CREATE TABLE destination (
            id INTEGER PRIMARY KEY,
            provider TEXT NOT NULL,
            account TEXT NOT NULL,
            owner INTEGER NOT NULL,
            epoch INTEGER NOT NULL,
            revision INTEGER NOT NULL,
            leased REAL NOT NULL,
            until REAL NOT NULL,
            out INTEGER NOT NULL,
            paused REAL NOT NULL,
            resumes REAL NOT NULL,
            reason TEXT,
            tried INTEGER NOT NULL,
            accepted INTEGER NOT NULL,
            through INTEGER NOT NULL,
            delivered INTEGER NOT NULL,
            purged INTEGER NOT NULL,
            head INTEGER NOT NULL,
            UNIQUE (provider, account)
        ) STRICT;
        CREATE TABLE dropped (
            destination INTEGER NOT NULL,
            reason TEXT NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (destination, reason)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE delivery (
            destination INTEGER NOT NULL,
            held INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            kept INTEGER NOT NULL,
            user TEXT NOT NULL,
            noted REAL,
            due REAL,
            attempts INTEGER,
            reason TEXT,
            PRIMARY KEY (destination, held, sequence)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX delivery_delayed ON delivery (destination, user) WHERE due IS NOT NULL;
        CREATE TABLE denial (user BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
        CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
        INSERT INTO meta (name, value) VALUES ('salt', randomblob(16));
        INSERT INTO destination
        SELECT 1, '', coalesce((SELECT CAST(value AS TEXT) FROM state WHERE key = 'account'), ''),
            0, 0, 0, 0, 0, 0, 0, 0, NULL, 0,
            highest - coalesce((SELECT value FROM ledger WHERE name = 'offset'), 0), highest,
            coalesce((SELECT value FROM ledger WHERE name = 'delivered'), 0),
            coalesce((SELECT value FROM ledger WHERE name = 'purged'), 0), 0
        FROM (
            SELECT max(
                coalesce((SELECT value FROM ledger WHERE name = 'sequence'), 0),
                coalesce((SELECT max(sequence) FROM event), 0)
            ) AS highest
        ) WHERE highest > 0;
        INSERT INTO dropped (destination, reason, count)
        SELECT 1, name, value FROM ledger
        WHERE name NOT IN ('sequence', 'offset', 'delivered', 'purged', 'quarantined');
        INSERT INTO delivery (destination, held, sequence, kept, user, noted, due, attempts, reason)
        SELECT 1, held, event.sequence, kept, user, noted, nullif(due, 0), attempts, reason
        FROM event LEFT JOIN attempt ON attempt.sequence = event.sequence;
        CREATE TABLE body (
            sequence INTEGER PRIMARY KEY,
            priority INTEGER NOT NULL,
            date REAL NOT NULL,
            owed INTEGER,
            kept INTEGER,
            user TEXT,
            body BLOB NOT NULL
        ) STRICT;
        INSERT INTO body (sequence, priority, date, body) SELECT sequence, priority, date, body FROM event;
        DROP TABLE event;
        ALTER TABLE body RENAME TO event;
        DROP TABLE attempt;
        DROP TABLE lease;
        DROP TABLE ledger;
        """,
    ]

    /// The random bytes that the contents have from their creation.
    static func salt(_ database: Database) throws -> Data {
        try Data.fetchOne(database, sql: "SELECT value FROM meta WHERE name = ?", arguments: [StoreMeta.salt]) ?? Data()
    }

    /// The columns of all tables, which the statements rely on.
    private static func columns(_ database: Database) throws -> Set<String> {
        try String.fetchSet(
            database,
            sql: """
                SELECT format('%s.%s %s %d %d', t.name, c.name, c.type, c."notnull", c.pk)
                FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'
                """
        )
    }

    /// Migrates the tables to the newest version, step by step, in one transaction.
    ///
    /// - Throws: ``StoreFault/foreign`` and ``StoreFault/newer(version:)``, and ``StoreFault/damaged`` if the tables
    ///   aren't those of their version; the file is then left unchanged.
    static func migrate(_ database: Database) throws {
        var (found, mark, tables, columns) = (0, Int32(0), Set<String>(), Set<String>())
        // In one transaction: another process may be migrating them at this moment.
        try database.inTransaction(.deferred) {
            found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
            mark = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
            tables = try String.fetchSet(database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
            columns = try Self.columns(database)
            return .commit
        }
        let isOurs = mark == applicationID || tables.isSuperset(of: ["event", "state"])
        guard tables.isEmpty || isOurs else { throw StoreFault.foreign }
        guard found <= version else { throw StoreFault.newer(version: found) }
        // A flipped bit in the tables' own descriptions isn't damage to SQLite; it merely sees other columns.
        let known = try DatabaseQueue().write { database in
            for step in steps.prefix(max(0, found)) { try database.execute(sql: step) }
            return try Self.columns(database)
        }
        guard found > 0 ? columns.isSuperset(of: known) : tables.isEmpty else { throw StoreFault.damaged }
        guard found < version || mark != applicationID else { return }
        try database.inTransaction(.immediate) {
            // Read again: another process may have been quicker.
            let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
            guard found <= version else { throw StoreFault.newer(version: found) }
            for step in steps.dropFirst(max(0, found)) { try database.execute(sql: step) }
            try database.execute(sql: "PRAGMA user_version = 3")
            try database.execute(sql: "PRAGMA application_id = 1481657684")
            return .commit
        }
    }
}
