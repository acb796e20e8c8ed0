import Experimentation
import Foundation
internal import GRDB
import Synchronization

/// The only access to the database: simultaneous requests share one transaction.
///
/// The first caller runs; a caller that arrives meanwhile waits without a thread and joins the next transaction, or
/// this one if its commit waits for the disk and hasn't begun. Callers are answered after the commit. If a commit
/// doesn't wait for the disk, the first caller runs its own transaction on its own thread, which saves two changes of
/// thread; everything else runs on the database's queue.
final class GroupCommit: Sendable {
    /// The maximum number of groups that go before the file is rewritten.
    static let mostBeforeErasing = 64

    /// The maximum number of jobs in a transaction; bounds the log's growth.
    static let largestGroup = 256

    /// The work to do.
    let waiting = Mutex(Waiting())
    private let table: Mutex<OutboxTable>
    /// The open file; another one after it was deleted or replaced.
    private let connection: Mutex<StoreConnection>
    private let lock: FileLock
    private let move: StoreMove
    let reserve: DiskReserve
    /// Whether the first caller runs its own transaction, because no commit waits for the disk.
    let runsOnCaller: Bool
    /// Whether evicted events still have rows.
    let hasEvicted = Atomic(false)
    /// The path as the caller spelled it.
    let name: String

    /// The open file's queue.
    var database: DatabaseQueue { connection.withLock { $0.database } }
    /// How long the file waits for other processes.
    var patience: Patience { connection.withLock { $0.patience } }

    /// Creates access to an open database.
    init(_ opened: StoreOpening.Opened, move: StoreMove, reserve: DiskReserve, runsOnCaller: Bool) {
        connection = Mutex(opened.connection)
        lock = opened.lock
        name = move.opening.file.name
        table = Mutex(OutboxTable(limits: move.limits))
        self.move = move
        self.reserve = reserve
        self.runsOnCaller = runsOnCaller
    }

    /// Runs a job and returns its result once it is durable.
    ///
    /// The job may run twice: when one in a shared transaction fails, each is run again on its own.
    func perform<Value: Sendable>(
        _ kind: Kind,
        _ body: @escaping @Sendable (Database, inout OutboxTable) throws -> Value
    ) async throws(ExperimentationError) -> Value {
        let result: Result<Value, ExperimentationError> = await withCheckedContinuation { continuation in
            submit(
                Job(kind: kind) { database, table in
                    let value = try body(database, &table)
                    return { continuation.resume(returning: .success(value)) }
                } fail: { error in
                    continuation.resume(returning: .failure(error))
                }
            )
        }
        return try result.get()
    }

    /// Reads committed data, on the caller's thread and without waiting for the current transaction.
    ///
    /// - Returns: The result; `nil` if that isn't possible now, so that the caller must queue.
    func look<Value>(_ body: (Database) throws -> Value) -> Value? {
        guard let reader = connection.withLock({ $0.reader }) else { return nil }
        return try? reader.inDatabase(body)
    }

    /// Writes the log back and empties it.
    func emptyLog(_ database: Database) throws { try connection.withLock { $0 }.emptyLog(database) }

    // MARK: Closing

    /// Closes the database; later requests fail.
    func close() async {
        // Data in memory isn't lost with a file that has disappeared, nor figures that another process has written.
        if !connection.withLock({ $0.identities.areCurrent }) || table.withLock({ $0.isCopyBehind }) {
            try? await perform(.removal) { _, table in table.oweCopy() }
        }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            database.asyncWriteWithoutTransaction { _ in continuation.resume() }
        }
        connection.withLock { $0 }.close()
    }

    private func submit(_ job: Job) {
        let isFirst = waiting.withLock { waiting in
            waiting.jobs.append(job)
            if waiting.isRunning { return false }
            waiting.isRunning = true
            return true
        }
        guard isFirst else { return }
        if runsOnCaller {
            let next = database.writeWithoutTransaction { step($0, isOnCaller: true) }
            if next == .nothing { return }
        }
        goOn()
    }

    /// Does the waiting work, on the database's queue.
    func goOn() {
        database.asyncWriteWithoutTransaction { [self] database in
            var next = Next.more
            while next == .more { next = step(database, isOnCaller: false) }
            if next == .elsewhere { goOn() }
        }
    }

    /// What follows a transaction.
    private enum Next {
        /// Nothing: the next caller runs again.
        case nothing
        /// More work.
        case more
        /// More work, in another file.
        case elsewhere
    }

    /// Runs one transaction.
    private func step(_ database: Database, isOnCaller: Bool) -> Next {
        if !isOnCaller, runErasing(database) { return hasMore() }
        let group = waiting.withLock { waiting -> [Job] in
            if waiting.jobs.isEmpty, !isOnCaller, let clearing = waiting.clearing { return [clearing] }
            let group = waiting.takeJobs(atMost: Self.largestGroup)
            if waiting.erasing != nil { waiting.groupsBeforeErasing += 1 }
            return group
        }
        if group.isEmpty { return hasMore() }
        patience.isShort.store(isOnCaller, ordering: .relaxed)
        let left = run(group, database, isOnCaller: isOnCaller)
        if left.jobs.isEmpty { return hasMore() }
        waiting.withLock { $0.jobs.insert(contentsOf: left.jobs, at: 0) }
        return left.isElsewhere ? .elsewhere : .more
    }

    private func hasMore() -> Next {
        waiting.withLock { waiting in
            waiting.isRunning = !waiting.jobs.isEmpty || waiting.erasing != nil || waiting.clearing != nil
            return waiting.isRunning ? .more : .nothing
        }
    }

    /// Runs a group and answers every caller in it.
    ///
    /// - Returns: The jobs that another process blocks and that the caller's thread shouldn't wait for, or that
    ///   belong to another file.
    private func run(_ group: [Job], _ database: Database, isOnCaller: Bool) -> Left {
        var group = group
        do {
            for tell in try table.withLock({ try commit(&group, database, &$0) }) { tell() }
        } catch {
            // Where the caller's thread would have to wait or repeat the others' work, the database's queue does it.
            if isOnCaller, error.isBusy || group.count > 1 { return Left(jobs: group) }
            if error as? StoreFault == .replaced { return goElsewhere(with: group, database) }
            // Alone, each job would wait for the other process as long as the whole group did.
            guard group.count > 1, !error.isBusy else {
                if error.isFull, group[0].kind == .removal, makeRoom(database) {
                    return run(group, database, isOnCaller: isOnCaller)
                }
                // Reading doesn't need the lock that the others couldn't get.
                let reads = group.filter { $0.kind == .read }
                let isMixed = error.isBusy && !reads.isEmpty && reads.count < group.count
                for job in group where !isMixed || job.kind != .read { job.fail(.store(error, name: name)) }
                return isMixed ? run(reads, database, isOnCaller: isOnCaller) : Left()
            }
            patience.isShort.store(false, ordering: .relaxed)
            for index in group.indices {
                var left = run([group[index]], database, isOnCaller: false)
                if left.jobs.isEmpty { continue }
                left.jobs += group[(index + 1)...]
                return left
            }
        }
        return Left()
    }

    /// Moves everything to the file now at the path.
    private func goElsewhere(with group: [Job], _ database: Database) -> Left {
        do {
            patience.isShort.store(false, ordering: .relaxed)
            let identities = connection.withLock { $0.identities }
            let moved = try move.run(database, identities, lock, table.withLock { $0.firstEpochs })
            connection.withLock { $0 = moved.connection }
            table.withLock { $0 = moved.table }
            reserve.restore()
            if move.traces.isErasingOwed {
                eraseLater(Erasing(file: move.opening.file, traces: move.traces, lock: lock))
            }
            return Left(jobs: group, isElsewhere: true)
        } catch {
            for job in group { job.fail(.store(error, name: name)) }
            return Left()
        }
    }

    // Runs the jobs, and those that arrive meanwhile, in one transaction.
    private func commit(
        _ group: inout [Job],
        _ database: Database,
        _ table: inout OutboxTable
    ) throws -> [@Sendable () -> Void] {
        var changed = table
        var hasCopied = false
        do {
            let writes = group.contains { $0.kind != .read }
            try HotStatement(writes ? "BEGIN IMMEDIATE" : "BEGIN DEFERRED", database).run()
            if try changed.refresh(database) {
                move.traces.noteUnknown()
                connection.withLock { $0.noteOthers() }
            }
            if writes, changed.evictions.areStale { try changed.dropEvicted(database) }
            var tell: [@Sendable () -> Void] = []
            var next = group
            while !next.isEmpty {
                if next.contains(where: { $0.kind == .write }), !reserve.allowsAdding() { throw StoreFault.full }
                for job in next { tell.append(try job.work(database, &changed)) }
                next = writes ? arrived(after: group.count) : []
                group += next
            }
            if writes {
                // Events written to a deleted file would be lost.
                guard connection.withLock({ $0.identities.areCurrent }) else { throw StoreFault.replaced }
                if changed.isCopyDue(after: table) {
                    changed.upkeep.copied = changed.lastSequence
                    lock.write(AccountsCopy(changed))
                    hasCopied = true
                }
            }
            try HotStatement("COMMIT", database).run()
            table = changed
            hasEvicted.store(!changed.evictions.sequences.isEmpty, ordering: .relaxed)
            return tell
        } catch {
            if database.isInsideTransaction { try? database.rollback() }
            if hasCopied { table.restoreCopy(lock, database) }
            throw error
        }
    }
}
