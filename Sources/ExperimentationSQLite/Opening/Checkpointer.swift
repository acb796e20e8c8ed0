import Dispatch
internal import GRDB
internal import GRDBSQLite
import Synchronization

/// Writes a store's log back into its database beside the commits, so that hardly any of them waits for the disk.
///
/// It has a connection of its own, opened when the log is first long enough: SQLite lets one connection write the log
/// back while another one appends to it. A commit writes the log back itself only if this can't keep up.
///
/// It never begins when everything is written back: before version 3.51.3, SQLite may then take the next commits for
/// written back as well, and lose them, if one of them begins the log anew at that moment (the "WAL-reset bug"). It
/// can't know what other processes have written back, so it no longer begins once one of them has written.
final class Checkpointer: Sendable {
    /// The number of pages that commits may add while the log is written back.
    private static let mostMeanwhile = 150

    private struct State {
        /// The connection; `nil` before the first time.
        var connection: OpaquePointer?
        /// The file that commits are written to.
        var file: FileIdentity?
        /// The length of the log in pages when everything in it was last written back.
        var lengthWritten = 0
        var isClosed = false

        /// Opens the file if it is still there.
        ///
        /// If it was deleted, nothing is created in its place; if it was replaced, the log doesn't belong to the other
        /// file.
        ///
        /// - Returns: Whether it is open.
        mutating func open(_ path: String) -> Bool {
            if connection != nil { return true }
            if !isClosed, sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
                FileIdentity(of: path) == file,
                // A connection knows of the log once it has read something.
                sqlite3_exec(connection, "PRAGMA schema_version", nil, nil, nil) == SQLITE_OK
            {
                return true
            }
            close()
            return false
        }

        /// Waits briefly for the current transaction, and lets none begin.
        func holdOffWriters() -> Bool {
            sqlite3_busy_timeout(connection, 10)
            return sqlite3_exec(connection, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK
        }

        /// Lets transactions begin.
        func letWrite() { sqlite3_exec(connection, "ROLLBACK", nil, nil, nil) }

        /// Notes the length of a log that was written back completely.
        mutating func note(_ length: Int?) {
            if let length { lengthWritten = length }
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
    /// The length of the log after the last commit.
    private let length = Atomic(0)
    /// Whether the log is being written back beside the commits, or is about to be.
    private let isRunning = Atomic(false)
    /// Whether another process writes to the file as well.
    private let isShared = Atomic(false)
    private let queue: DispatchQueue

    /// Creates the checkpointer of a file.
    ///
    /// - Parameters:
    ///   - path: The database.
    ///   - pages: The number of pages that the log should have at most.
    ///   - isBeside: Whether it writes the log back beside the commits; otherwise the commits write it back.
    ///   - queue: The queue on which it writes the log back.
    init(
        path: String,
        pages: Int,
        isBeside: Bool = true,
        queue: DispatchQueue = DispatchQueue(label: "ExperimentationSQLite.log", qos: .utility)
    ) {
        self.path = path
        self.queue = queue
        soon = isBeside ? max(pages / 2, pages - Self.mostMeanwhile) : pages
        now = pages
    }

    deinit { close() }

    /// Counts the commits of a connection, which must not outlive this object.
    ///
    /// This replaces SQLite's own checkpoints; setting `wal_autocheckpoint` later would bring them back.
    func follow(_ database: Database) {
        state.withLock { $0.file = FileIdentity(of: path) }
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

    /// Leaves the log to commits, because another process writes to the file as well.
    func share() { isShared.store(true, ordering: .relaxed) }

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
        self.length.store(length, ordering: .relaxed)
        let isShared = isShared.load(ordering: .relaxed)
        if length >= now {
            state.withLock { state in
                // The log begins anew only if all of it is written back: no other writer may append to it meanwhile.
                if isShared, state.open(path), !state.holdOffWriters() { return }
                state.note(Self.writeBack(connection))
                if isShared { state.letWrite() }
            }
        } else if length >= soon, !isShared, !isRunning.exchange(true, ordering: .acquiring) {
            queue.async { [self] in
                state.withLock { state in
                    // A commit may have written everything back before this could begin.
                    let isWritten = state.lengthWritten == self.length.load(ordering: .relaxed)
                    if !isWritten, state.open(path) {
                        state.note(Self.writeBack(state.connection))
                    }
                }
                isRunning.store(false, ordering: .releasing)
            }
        }
    }

    /// Writes back what has been committed so far; returns at once if another process is doing it.
    ///
    /// - Returns: The length of the log, if all of it is written back.
    private static func writeBack(_ connection: OpaquePointer?) -> Int? {
        var (length, written): (Int32, Int32) = (0, 0)
        let code = sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_PASSIVE, &length, &written)
        return code == SQLITE_OK && written == length ? Int(length) : nil
    }
}
