import Experimentation
internal import GRDB
import Synchronization

/// The one way to the database: what is asked at the same moment shares one transaction.
///
/// Whoever comes first runs; whoever comes while it runs waits without a thread and is taken along in the next
/// transaction. An answer is given after the commit. Where a commit doesn't wait for the disk, the first caller runs its
/// own transaction on its own thread, which spares two changes of thread; everything else runs on the database's queue.
final class GroupCommit: Sendable {
    /// What a piece of work does to the database.
    enum Kind: Sendable {
        /// It only reads; works on a full disk too.
        case read
        /// It adds something, inside a transaction that it may share.
        case write
        /// It removes something or leads to that, in such a transaction; if the disk is full, the reserve is given up for it.
        case removal
        /// It needs the database without a transaction around it.
        case alone
    }

    private struct Job: Sendable {
        var kind: Kind
        /// Does the work, and returns what tells the caller; that is called after the commit.
        var work: @Sendable (Database, inout OutboxTable) throws -> @Sendable () -> Void
        var fail: @Sendable (ExperimentationError) -> Void
    }

    private struct Waiting {
        var jobs: [Job] = []
        var isRunning = false
    }

    /// How many pieces of work share a transaction at most; bounds what the log grows by in one go.
    private static let largestGroup = 256

    private let waiting = Mutex(Waiting())
    private let table: Mutex<OutboxTable>
    private let database: DatabaseQueue
    private let patience: Patience
    private let ballast: Ballast
    private let runsOnCaller: Bool
    private let path: String

    /// Creates the way to an open database.
    init(_ connection: StoreConnection, limits: StoreLimits, ballast: Ballast, runsOnCaller: Bool) {
        database = connection.database
        patience = connection.patience
        path = connection.path
        table = Mutex(OutboxTable(limits: limits))
        self.ballast = ballast
        self.runsOnCaller = runsOnCaller
    }

    /// Runs a piece of work and returns what it returns, once that is durable.
    ///
    /// The work may run twice: when one of a shared transaction fails, each is run again by itself.
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

    /// Closes the database; whatever is asked afterwards fails.
    func close() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            database.asyncWriteWithoutTransaction { _ in continuation.resume() }
        }
        try? database.close()
    }

    private func submit(_ job: Job) {
        let isFirst = waiting.withLock { waiting in
            waiting.jobs.append(job)
            if waiting.isRunning { return false }
            waiting.isRunning = true
            return true
        }
        guard isFirst else { return }
        if runsOnCaller, job.kind != .alone {
            let hasMore = database.writeWithoutTransaction { step($0, isOnCaller: true) }
            if !hasMore { return }
        }
        database.asyncWriteWithoutTransaction { [self] database in
            while step(database, isOnCaller: false) {}
        }
    }

    /// Runs one transaction.
    ///
    /// - Returns: Whether there is more to do; if not, the next caller is the first again.
    private func step(_ database: Database, isOnCaller: Bool) -> Bool {
        let group = waiting.withLock { waiting -> [Job] in
            let group =
                waiting.jobs.first?.kind == .alone
                ? Array(waiting.jobs.prefix(1))
                : Array(waiting.jobs.prefix(Self.largestGroup).prefix { $0.kind != .alone })
            waiting.jobs.removeFirst(group.count)
            if group.isEmpty { waiting.isRunning = false }
            return group
        }
        if group.isEmpty { return false }
        patience.isShort.store(isOnCaller, ordering: .relaxed)
        if !run(group, database, isOnCaller: isOnCaller) {
            waiting.withLock { $0.jobs.insert(contentsOf: group, at: 0) }
            return true
        }
        return waiting.withLock { waiting in
            if waiting.jobs.isEmpty { waiting.isRunning = false }
            return waiting.isRunning
        }
    }

    /// Runs a group and answers everybody in it.
    ///
    /// - Returns: `false` if another process has the database and the caller's thread shouldn't wait for it.
    private func run(_ group: [Job], _ database: Database, isOnCaller: Bool) -> Bool {
        do {
            for tell in try table.withLock({ try commit(group, database, &$0) }) { tell() }
        } catch {
            if isOnCaller, error.isBusy { return false }
            // Each by itself would wait for the other process as long as all of them did.
            guard group.count > 1, !error.isBusy else {
                if error.isFull, group[0].kind == .removal, makeRoom(database) {
                    return run(group, database, isOnCaller: isOnCaller)
                }
                for job in group { job.fail(.store(error, path: path)) }
                return true
            }
            patience.isShort.store(false, ordering: .relaxed)
            for job in group { _ = run([job], database, isOnCaller: false) }
        }
        return true
    }

    /// Gives up the reserve, and empties the log with it.
    ///
    /// - Returns: Whether there was anything to give up.
    private func makeRoom(_ database: Database) -> Bool {
        guard ballast.spend() else { return false }
        _ = try? database.checkpoint(.truncate)
        return true
    }

    private func commit(
        _ group: [Job],
        _ database: Database,
        _ table: inout OutboxTable
    ) throws -> [@Sendable () -> Void] {
        var changed = table
        if group.first?.kind == .alone {
            let tell = try group.map { try $0.work(database, &changed) }
            table = changed
            return tell
        }
        do {
            let writes = group.contains { $0.kind != .read }
            try HotStatement(writes ? "BEGIN IMMEDIATE" : "BEGIN DEFERRED", database).run()
            try changed.refresh(database)
            if group.contains(where: { $0.kind == .write }), !ballast.allowsAdding() { throw StoreFault.full }
            let tell = try group.map { try $0.work(database, &changed) }
            try HotStatement("COMMIT", database).run()
            table = changed
            return tell
        } catch {
            if database.isInsideTransaction { try? database.rollback() }
            throw error
        }
    }
}

/// How long the database waits for another process: not at all on a caller's thread, else up to the limit.
final class Patience: Sendable {
    /// Whether somebody's own thread would wait.
    let isShort = Atomic(false)
    private let milliseconds: Int

    /// Creates patience.
    init(_ limit: Duration) {
        let parts = limit.components
        milliseconds =
            Int(clamping: max(0, parts.seconds)) > 3_600
            ? 3_600_000 : Int(max(0, parts.seconds)) * 1_000 + Int(max(0, parts.attoseconds) / 1_000_000_000_000_000)
    }

    /// Waits a little, if there is patience left.
    ///
    /// - Parameter tries: How often this was asked before, for the same lock.
    /// - Returns: Whether to try again.
    func wait(tries: Int) -> Bool {
        // Two milliseconds a turn: short enough that nobody starves beside a busy writer.
        if isShort.load(ordering: .relaxed) || tries * 2 >= milliseconds { return false }
        usleepMilliseconds(2)
        return true
    }
}
