import Experimentation
import Foundation
internal import GRDB

/// What to do when a store's file was deleted or replaced while it was open.
///
/// Processes that have the old file open can still use it. Its contents are moved to what is at the path now: to a new
/// store if nothing is there, to a store that is found there, and nowhere if something else is there.
struct StoreMove: Sendable {
    /// Opens what is at the path.
    let opening: StoreOpening
    /// How much the store keeps.
    let limits: StoreLimits
    /// The users who may have left traces in the file.
    let traces: Traces
    /// Where the move is logged.
    let log: any LogSink

    /// The result of a move.
    struct Moved: Sendable {
        var connection: StoreConnection
        var table: OutboxTable
    }

    /// Moves a store.
    ///
    /// - Parameters:
    ///   - old: The open file that is no longer at its path.
    ///   - identities: The identities of its files.
    ///   - lock: Its lock, which is replaced by the new file's.
    ///   - firstEpochs: Which leases an earlier move has ended.
    /// - Returns: The new file, with all contents.
    /// - Throws: Why the move failed; everything is then left where it was.
    func run(
        _ old: Database,
        _ identities: FileIdentities,
        _ lock: FileLock,
        _ firstEpochs: [Destination: Int64]
    ) throws -> Moved {
        var isMoved = false
        defer { if old.isInsideTransaction { try? old.rollback() } }
        // Other processes with the same file open wait until it is empty, and then find nothing to move.
        try old.beginTransaction(.immediate)
        var contents = StoreReader(database: old, copy: nil).contents()
        let former = contents
        if former.isMoved { contents = StoreContents() }
        contents.balance(with: nil)
        identities.forgetBeside()
        // The copy of the ledgers is about the contents moved here.
        lock.clear()
        lock.release()
        defer { if !isMoved { _ = lock.takeTogether(within: 1) } }
        let opened = try opening.open()
        let table = try opened.connection.database.writeWithoutTransaction { database in
            var ended = firstEpochs
            // Another process has moved the events into the file it found, with numbers after those of that file.
            if former.isMoved, try StoreSchema.salt(database) != former.salts.first {
                ended.merge(former.epochs) { max($0, $1) }
            }
            let table = try fill(database, contents, ended, isNew: opened.isNew)
            if try Erasing.isOwed(database) { traces.oweErasing() }
            return table
        }
        lock.exchange(with: opened.lock)
        isMoved = true
        traces.noteUnknown()
        // If this fails, other processes with the same file open deliver its events once more.
        try? OutboxTable.clear(old)
        try? old.execute(
            sql: "INSERT OR IGNORE INTO meta (name, value) VALUES (?, x'01')",
            arguments: [StoreMeta.moved]
        )
        try? old.commit()
        log.log(
            .warning,
            "store.replaced",
            "The store's file was deleted or replaced while it was open. What it held was carried over into the file "
                + "that is there now."
        )
        return Moved(connection: opened.connection, table: table)
    }

    private func fill(
        _ database: Database,
        _ contents: StoreContents,
        _ ended: [Destination: Int64],
        isNew: Bool
    ) throws -> OutboxTable {
        var table = OutboxTable(limits: limits)
        // Both files together may be too much; the next event makes room.
        try StoreConnection.limitPages(StoreLimits(maximumBytes: .max), database)
        defer { try? StoreConnection.limitPages(limits, database) }
        try database.inTransaction(.immediate) {
            try table.refresh(database)
            // A file with the same random bytes is an earlier copy of this one, such as a backup: this one is newer.
            let isOlder = !contents.lanes.isEmpty && contents.salts.first == table.consent.salts.first
            if isOlder {
                try OutboxTable.clear(database)
                table = OutboxTable(limits: limits)
                try table.refresh(database)
            }
            try table.take(contents, isContinued: isNew || isOlder, database)
            try table.endLeases(before: ended, database)
            return .commit
        }
        return table
    }
}
