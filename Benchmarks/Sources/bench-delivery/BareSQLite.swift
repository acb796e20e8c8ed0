import Foundation
import GRDBSQLite

/// What SQLite does by itself with the settings of the store: one prepared insert, each in its own transaction.
final class BareSQLite {
    private var connection: OpaquePointer?
    private var insert: OpaquePointer?

    init(path: String, synchronous: Int) {
        precondition(sqlite3_open(path, &connection) == SQLITE_OK)
        for sql in [
            "PRAGMA journal_mode = WAL", "PRAGMA synchronous = \(synchronous)", "PRAGMA secure_delete = FAST",
            "PRAGMA temp_store = MEMORY", "PRAGMA max_page_count = 6248", "PRAGMA wal_autocheckpoint = 488",
            "PRAGMA journal_size_limit = 1998848",
            "CREATE TABLE event (sequence INTEGER PRIMARY KEY, body BLOB NOT NULL)",
        ] { precondition(sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK) }
        precondition(
            sqlite3_prepare_v2(connection, "INSERT INTO event (body) VALUES (?)", -1, &insert, nil) == SQLITE_OK
        )
    }

    deinit {
        sqlite3_finalize(insert)
        sqlite3_close(connection)
    }

    func add(_ body: [UInt8]) {
        sqlite3_bind_blob(insert, 1, body, Int32(body.count), nil)
        precondition(sqlite3_step(insert) == SQLITE_DONE)
        sqlite3_reset(insert)
    }
}
