import Experimentation
import Foundation
internal import GRDB
import Synchronization

/// A durable store in one SQLite file: the outbox, cached decisions and rules, sticky assignments.
///
/// Its guarantees: an accepted event survives the death of the process (or, with ``Durability/powerLoss``, the loss of
/// power). The ledger is written in the same transaction as the events. Several processes may share the file, and a
/// damaged file is set aside rather than fatal. Events are owed to destinations, so that those of one vendor's account
/// are never sent to another account, whichever client opens the file.
///
/// ```swift
/// let client = try await ExperimentationClient(provider: provider, store: .sqlite(at: url))
/// ```
///
/// The files are the database and beside it `-wal` and `-shm` (SQLite's own), `-lock`, and `-reserve` (space that is
/// given up when the disk is full, so that events can still be delivered and removed). After damage there are also
/// `.damaged` and `.damaged-2` to `.damaged-4` (the files set aside: the first one, and the latest), and, while one is
/// replaced, `.salvage` and `.repaired`. Only their owner can access the files.
public final class SQLiteStore: OutboxStore, StateStore {
    /// Settings of a store.
    public typealias Options = StoreOptions

    /// How much the store keeps.
    public let limits: StoreLimits
    /// Whether the file was found damaged and set aside when this store was opened.
    public let hasSetAsideDamage: Bool

    let file: StoreFile
    let realPath: String
    let lock: FileLock
    let commits: GroupCommit
    let traces = Traces()
    /// The random bytes of the contents, as they were last read.
    let lastSalt: Mutex<Data>
    private let given = Atomic<Int>(0)

    /// Opens a store, or creates it.
    ///
    /// Checks the whole file on the calling thread, which takes about a millisecond per megabyte; prefer
    /// ``Experimentation/ClientStore/sqlite(at:for:options:log:)`` in async code.
    ///
    /// - Parameters:
    ///   - url: The file. Its folder is created if necessary.
    ///   - provider: The owner of the events; a file that was opened for another vendor or account is then refused.
    ///   - options: The store's settings.
    ///   - log: Where to log that a damaged file was set aside, or that the file was deleted or replaced.
    /// - Throws: `ErrorCode.store`, also for a file of a later version, which is left unchanged;
    ///   `ErrorCode.configuration` for any other kind of file.
    public init(
        at url: URL,
        for provider: (any ExperimentationProvider)? = nil,
        options: Options = Options(),
        log: any LogSink = NoLog()
    ) throws(ExperimentationError) {
        let limits = options.limits
        self.limits = limits
        file = try StoreFile(url)
        let account = provider.map { Digest.hex($0.name, $0.scope) }
        let opening = StoreOpening(file, for: account, options)
        do {
            let opened = try opening.open()
            lock = opened.lock
            hasSetAsideDamage = opened.hasSetAsideDamage
            commits = GroupCommit(
                opened,
                move: StoreMove(opening: opening, limits: limits, traces: traces, log: log),
                reserve: DiskReserve(path: file.reservePath, size: limits.logPages * 4_096),
                runsOnCaller: options.durability == .process
            )
        } catch {
            throw .store(error, name: file.name)
        }
        lastSalt = Mutex(commits.salt ?? Data())
        // Resolved once the file exists: before that, a link in its path may lead nowhere.
        realPath = URL(fileURLWithPath: file.path).resolvingSymlinksInPath().path
        if lock.tryAlone(), (try? commits.isErasingOwed()) == true { eraseBehind() }
        if hasSetAsideDamage {
            log.log(
                .error,
                "store.damaged",
                "The store was damaged. It was set aside, and what could be read was kept."
            )
        }
    }

    /// Erases what was removed and closes the file, so that later calls fail.
    ///
    /// Releasing the store closes it too.
    public func close() async {
        await dropEvicted()
        try? await finishErasing()
        await commits.close()
        lock.release()
    }

    // MARK: Outbox

    /// Accepts events, in order.
    public func append(
        _ events: [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?] {
        try await append(events, joinedBy: { _ in [] }, now: now)
    }

    /// Accepts events, in order, and those that arrive until the transaction ends, if its commit waits for the disk.
    public func append(
        _ events: [NewEvent],
        joinedBy more: @escaping @Sendable (_ count: Int) -> [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?] {
        let first = EncodedEvents(events, limit: limits.maximumEventBytes)
        if first.stored.isEmpty { return first.refusals }
        let (refusals, overflow) = try await commits.perform(.write) { [traces, limits, commits] database, table in
            let before = table.overflow
            var refusals: [ExperimentationError?] = []
            var next = first
            while true {
                // Noted here, so that no rewriting of the file in between can clear it.
                traces.note(next.stored)
                refusals += next.refusals(accepted: try table.append(next.stored, now: now, database))
                let arrived = commits.runsOnCaller ? [] : more(refusals.count)
                if arrived.isEmpty { return (refusals, table.overflow - before) }
                next = EncodedEvents(arrived, limit: limits.maximumEventBytes)
            }
        }
        if overflow > 0 { given.add(overflow, ordering: .relaxed) }
        return refusals
    }

    /// The database's thread, if a commit waits for the disk there; `nil` if it runs on the caller's thread.
    public var executor: (any TaskExecutor)? { commits.runsOnCaller ? nil : commits }

    /// The number of deliveries that this process has dropped to make room since it opened the file.
    public var overflowed: Int { given.load(ordering: .relaxed) }

    /// Carries out changes of consent.
    ///
    /// Traces of what was removed are erased from the files right afterwards; ``finishErasing()`` waits for that.
    public func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        let (outcome, isErasingOwed) = try await commits.perform(.removal) { [traces] database, table in
            var outcome = ConsentOutcome()
            var rest = changes[...]
            while let change = rest.first {
                // Consecutive denials read the deliveries once.
                let denials = rest.prefix { !$0.isGranted }
                if denials.isEmpty {
                    outcome.released += try table.grant(change.userID, database)
                } else {
                    outcome.removed += try table.deny(denials.map(\.userID), database)
                }
                rest = rest.dropFirst(max(1, denials.count))
            }
            // What was delivered before leaves traces, too.
            let isErasingOwed =
                outcome.removed > 0 || changes.contains { !$0.isGranted && traces.mayExist(of: $0.userID) }
            if isErasingOwed { try Erasing.owe(database) }
            return (outcome, isErasingOwed)
        }
        if isErasingOwed { eraseBehind() }
        return outcome
    }

    /// Drops unleased deliveries older than a date.
    public func expire(
        before date: Date,
        owedTo destination: Destination,
        now: Date
    ) async throws(ExperimentationError) -> Int {
        try await commits.perform(.removal) { database, table in
            try table.expire(before: date, owedTo: destination, now: now, database)
        }
    }

    /// Removes everything that is owed to a destination, and its traces in the files.
    public func remove(
        owedTo destination: Destination,
        as account: RemovalAccount
    ) async throws(ExperimentationError) -> Int {
        let removed = try await commits.perform(.removal) { database, table in
            try Erasing.owe(database)
            return try table.remove(owedTo: destination, as: account, database)
        }
        eraseBehind()
        return removed
    }
}
