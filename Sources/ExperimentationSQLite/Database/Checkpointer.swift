import Dispatch
internal import GRDB
internal import GRDBSQLite
import Synchronization

/// Writes a store's log back into its database beside the commits, so that hardly any of them waits for the disk.
///
/// It has a connection of its own, opened when the log is first long enough: SQLite lets one connection write the log
/// back while another one appends to it. A commit writes the log back itself only if this can't keep up.
final class Checkpointer: Sendable {
    /// The number of pages that commits may add while the log is written back.
    private static let mostMeanwhile = 150

    private struct State {
        /// The connection; `nil` before the first time.
        var connection: OpaquePointer?
        var isClosed = false

        /// Writes back what was committed by now; returns at once if another process is doing it.
        mutating func checkpoint(_ path: String) {
            if connection == nil, !open(path) { return close() }
            sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        }

        /// Opens the file if it is there: it may have been deleted, and nothing is created in its place.
        private mutating func open(_ path: String) -> Bool {
            // A connection knows of the log once it has read something.
            sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK
                && sqlite3_exec(connection, "PRAGMA schema_version", nil, nil, nil) == SQLITE_OK
        }

        mutating func close() {
            sqlite3_close(connection)
            connection = nil
        }
    }

    private let path: String
    /// The length of the log in pages at which it is written back beside the commits.
    private let soon: Int
    /// The length of the log in pages at which a commit writes it back.
    private let now: Int
    private let state = Mutex(State())
    /// Whether the log is being written back beside the commits, or is about to be.
    private let isRunning = Atomic(false)
    private let queue = DispatchQueue(label: "ExperimentationSQLite.log", qos: .utility)

    /// Creates the checkpointer of a file.
    ///
    /// - Parameters:
    ///   - path: The database.
    ///   - pages: The number of pages that the log should have at most.
    init(path: String, pages: Int) {
        self.path = path
        soon = max(pages / 2, pages - Self.mostMeanwhile)
        now = pages
    }

    deinit { close() }

    /// Counts the commits of a connection, which must not outlive this.
    ///
    /// It takes the place of SQLite's own checkpoints, which setting `wal_autocheckpoint` later would bring back.
    func follow(_ database: Database) {
        sqlite3_wal_hook(
            database.sqliteConnection,
            { checkpointer, connection, _, pages in
                guard let checkpointer else { return SQLITE_OK }
                Unmanaged<Checkpointer>.fromOpaque(checkpointer).takeUnretainedValue().committed(connection, Int(pages))
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// Waits until the log is no longer being written back beside the commits.
    func finish() { queue.sync {} }

    /// Closes the connection once the log is no longer being written back.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.close()
        }
    }

    private func committed(_ connection: OpaquePointer?, _ length: Int) {
        if length >= now {
            state.withLock { _ in _ = sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil) }
        } else if length >= soon, !isRunning.exchange(true, ordering: .acquiring) {
            queue.async { [self] in
                state.withLock { state in if !state.isClosed { state.checkpoint(path) } }
                isRunning.store(false, ordering: .releasing)
            }
        }
    }
}
