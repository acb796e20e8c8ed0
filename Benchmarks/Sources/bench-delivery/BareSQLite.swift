import Foundation
import GRDBSQLite

/// SQLite alone with the store's settings: one prepared insert per transaction.
final class BareSQLite {
    private var connection: OpaquePointer?
    private var insert: OpaquePointer?
    private var owe: OpaquePointer?
    private var transaction: [OpaquePointer?] = []

    init(path: String, synchronous: Int) {
        precondition(sqlite3_open(path, &connection) == SQLITE_OK)
        for sql in [
            "PRAGMA journal_mode = WAL", "PRAGMA synchronous = \(synchronous)", "PRAGMA secure_delete = FAST",
            "PRAGMA temp_store = MEMORY", "PRAGMA max_page_count = 6248", "PRAGMA wal_autocheckpoint = 488",
            "PRAGMA journal_size_limit = 1998848",
            "CREATE TABLE event (sequence INTEGER PRIMARY KEY, body BLOB NOT NULL)",
            """
            CREATE TABLE delivery (
                destination INTEGER NOT NULL, held INTEGER NOT NULL, sequence INTEGER NOT NULL, user TEXT NOT NULL,
                PRIMARY KEY (destination, held, sequence)
            ) WITHOUT ROWID
            """,
        ] { precondition(sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK) }
        precondition(
            sqlite3_prepare_v2(connection, "INSERT INTO event (body) VALUES (?)", -1, &insert, nil) == SQLITE_OK
        )
    }

    deinit {
        for statement in transaction + [owe, insert] { sqlite3_finalize(statement) }
        sqlite3_close(connection)
    }

    /// Inserts the event and its delivery row in one transaction.
    func addBoth(_ body: [UInt8]) {
        if owe == nil {
            sqlite3_prepare_v2(
                connection,
                "INSERT INTO delivery VALUES (1, 0, last_insert_rowid(), 'user-1')",
                -1,
                &owe,
                nil
            )
            for sql in ["BEGIN IMMEDIATE", "COMMIT"] {
                var statement: OpaquePointer?
                sqlite3_prepare_v2(connection, sql, -1, &statement, nil)
                transaction.append(statement)
            }
        }
        run(transaction[0])
        add(body)
        run(owe)
        run(transaction[1])
    }

    private func run(_ statement: OpaquePointer?) {
        precondition(sqlite3_step(statement) == SQLITE_DONE)
        sqlite3_reset(statement)
    }

    func add(_ body: [UInt8]) {
        sqlite3_bind_blob(insert, 1, body, Int32(body.count), nil)
        precondition(sqlite3_step(insert) == SQLITE_DONE)
        sqlite3_reset(insert)
    }
}
