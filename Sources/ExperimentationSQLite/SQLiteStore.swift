import Experimentation
import Foundation
internal import GRDB
import Synchronization

/// A durable store in one SQLite file: the outbox, cached decisions and rules, sticky assignments.
///
/// What it promises: an accepted event survives the death of the process (or, with ``Durability/powerLoss``, the loss of
/// power), the accounts are written in the same transaction as the events, several processes may share the file, and a
/// damaged file is set aside rather than fatal. One file belongs to one application and one account of one vendor.
///
/// ```swift
/// let client = try await ExperimentationClient(provider: provider, store: .sqlite(at: url))
/// ```
///
/// The files are the database, beside it `-wal` and `-shm` (SQLite's own), `-lock`, `-reserve` (room that is given up when
/// the disk is full, so that events can still be delivered and removed), and after damage `.damaged`; all are readable by
/// their owner alone.
public final class SQLiteStore: OutboxStore, StateStore {
    /// How much is kept.
    public let limits: StoreLimits
    /// Whether the file that was found was damaged and set aside when this store was opened.
    public let hasSetAsideDamage: Bool

    private let file: StoreFile
    private let lock: FileLock
    private let commits: GroupCommit
    private let traces = Traces()
    private let leased = Mutex(LeasedQueue())

    /// Opens a store, or creates it.
    ///
    /// Checks the whole file, which takes about a millisecond for each megabyte, on the calling thread; prefer
    /// ``Experimentation/ClientStore/sqlite(at:for:durability:limits:busyTimeout:log:)`` in async code.
    ///
    /// - Parameters:
    ///   - url: The file. Its folder is made if need be.
    ///   - provider: Whose events these are; a file that was opened for another vendor or account is refused then.
    ///   - durability: What accepted events survive.
    ///   - limits: How much is kept.
    ///   - busyTimeout: How long to wait for another process that has the file locked.
    ///   - log: Where it says that a damaged file was set aside.
    /// - Throws: `ErrorCode.store`, also for a file of a later version, which is left as it is;
    ///   `ErrorCode.configuration` for a file that is something else.
    public init(
        at url: URL,
        for provider: (any ExperimentationProvider)? = nil,
        durability: Durability = .process,
        limits: StoreLimits = StoreLimits(),
        busyTimeout: Duration = .seconds(5),
        log: any LogSink = NoLog()
    ) throws(ExperimentationError) {
        self.limits = limits
        file = try StoreFile(url)
        try file.prepare()
        do {
            let opened = try StoreOpening(file, durability, limits, busyTimeout)
                .open(for: provider.map { Digest.hex($0.name, $0.scope) })
            lock = opened.lock
            hasSetAsideDamage = opened.hasSetAsideDamage
            commits = GroupCommit(
                opened.connection,
                limits: limits,
                ballast: Ballast(path: file.ballastPath, size: limits.logPages * 4_096),
                runsOnCaller: durability == .process
            )
        } catch {
            throw .store(error, path: file.path)
        }
        if hasSetAsideDamage {
            log.log(
                .error,
                "store.damaged",
                "The store was damaged. It was set aside, and what could be read was kept."
            )
        }
    }

    /// Closes the file, so that whatever is asked afterwards fails.
    ///
    /// Letting go of the store closes it too.
    public func close() async {
        await commits.close()
        lock.release()
    }

    // MARK: Outbox

    /// Accepts events.
    public func append(_ envelopes: [Envelope], isHeld: Bool) async throws(ExperimentationError) {
        var events: [StoredEvent] = []
        events.reserveCapacity(envelopes.count)
        for envelope in envelopes {
            events.append(try StoredEvent(envelope, isHeld: isHeld, limit: limits.maximumEventBytes))
        }
        let (stored, traces) = (events, traces)
        try await commits.perform(.write) { database, table in
            // Here, where nobody rewrites the file in between and forgets them again.
            traces.note(stored.lazy.map(\.user))
            try table.append(stored, database)
        }
    }

    /// Takes the next batches to deliver, in one transaction.
    public func lease(_ wanted: LeaseRequest) async throws(ExperimentationError) -> [[Envelope]] {
        while true {
            let batches = try await commits.perform(.removal) { database, table in try table.lease(wanted, database) }
            let read = batches.map { $0.read() }
            leased.withLock { leased in
                for batch in read {
                    for index in batch.envelopes.indices {
                        leased.append(batch.envelopes[index].id, batch.leased[index])
                    }
                }
            }
            // One event that can't be read must not keep the others from being delivered, nor must a failure to drop it:
            // it comes again when its lease is over.
            let unreadable = read.flatMap(\.unreadable)
            if !unreadable.isEmpty {
                try? await commits.perform(.removal) { database, table in
                    try table.drop(unreadable, as: .unreadable, database)
                }
            }
            let envelopes = read.map(\.envelopes).filter { !$0.isEmpty }
            if !envelopes.isEmpty || batches.isEmpty { return envelopes }
        }
    }

    /// Writes down what became of leased events.
    public func settle(_ settlements: [Settlement]) async throws(ExperimentationError) {
        if settlements.isEmpty { return }
        let events = leased.withLock { leased in settlements.map { leased.take($0.id) } }
        do {
            let isLargeAndEmpty = try await commits.perform(.removal) { database, table in
                try table.settle(settlements, events, database)
                return try table.isLargeAndEmpty(database)
            }
            if isLargeAndEmpty { await shrink() }
        } catch {
            leased.withLock { leased in
                for case (let settlement, let event?) in zip(settlements, events) {
                    leased.putBack(settlement.id, event)
                }
            }
            throw error
        }
    }

    /// Lets held events of a user go.
    public func release(userID: String) async throws(ExperimentationError) {
        try await commits.perform(.removal) { database, table in try table.release(user: userID, database) }
    }

    /// Removes a user's waiting events, but for the consent signal itself, and what is left of them in the files.
    public func purge(userID: String) async throws(ExperimentationError) -> Int {
        let purged = try await commits.perform(.removal) { database, table in try table.purge(user: userID, database) }
        leased.withLock { $0.forget(purged.leased) }
        if purged.count > 0 || traces.mayExist(of: userID) { try await forgetTraces() }
        return purged.count
    }

    /// Drops what is older than a moment.
    public func expire(before date: Date) async throws(ExperimentationError) -> Int {
        try await commits.perform(.removal) { database, table in
            try table.expire(before: date.timeIntervalSince1970, database)
        }
    }

    /// What waits.
    public func status(now: Date) async throws(ExperimentationError) -> OutboxStatus {
        try await commits.perform(.read) { database, table in
            try table.status(now: now.timeIntervalSince1970, database)
        }
    }

    /// The accounts.
    public func ledger() async throws(ExperimentationError) -> Ledger {
        try await commits.perform(.read) { database, table in try table.ledger(database) }
    }

    /// The events that wait, in the order of acceptance, without taking them from whoever delivers.
    ///
    /// What can't be read any more is left out.
    ///
    /// - Parameters:
    ///   - sequence: Where the last call ended; 0 at the beginning.
    ///   - limit: How many at most.
    /// - Returns: The next events; none at the end.
    /// - Throws: `ErrorCode.store`.
    public func waiting(
        after sequence: Int64 = 0,
        limit: Int = 1_000
    ) async throws(ExperimentationError) -> [WaitingEvent] {
        var last = sequence
        while true {
            let rows = try await commits.perform(.read) { [last] database, _ in
                try WaitingEvent.rows(after: last, limit: limit, database)
            }
            let events = rows.compactMap { row -> WaitingEvent? in
                guard var envelope = try? EnvelopeCoding.decode(Array(row.body)) else { return nil }
                envelope.sequence = row.sequence
                envelope.attempts = row.attempts
                return WaitingEvent(envelope: envelope, isHeld: row.isHeld, reason: row.reason)
            }
            // A page of which nothing can be read isn't the end.
            guard events.isEmpty, let end = rows.last else { return events }
            last = end.sequence
        }
    }

    // MARK: State

    /// The value of a key, or `nil`.
    public func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        try await commits.perform(.read) { database, _ in try StateTable.value(for: key, database) }
    }

    /// Sets or, with `nil`, removes a value.
    public func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        let (data, traces) = (value.map { Data($0) }, traces)
        try await commits.perform(.write) { database, table in
            traces.noteValue()
            try StateTable.set(data, for: key, database)
            if let data, try !table.hasRoom(after: data.count, database) { throw StoreFault.full }
        }
    }

    /// The keys that begin with a text, the least recently written first.
    public func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String] {
        try await commits.perform(.read) { database, _ in try StateTable.keys(beginningWith: prefix, database) }
    }

    /// Removes every key that begins with a text, and what is left of the values in the files.
    public func removeAll(beginningWith prefix: String) async throws(ExperimentationError) {
        let removed = try await commits.perform(.removal) { database, _ in
            try StateTable.removeAll(beginningWith: prefix, database)
        }
        if removed > 0 || traces.mayExistOfValues { try await forgetTraces() }
    }

    // MARK: Traces

    /// Rewrites the file, so that nothing is left in it of what was deleted.
    ///
    /// The deletion stands whether or not this succeeds, and as long as it hasn't, the next one tries it again.
    private func forgetTraces() async throws(ExperimentationError) {
        let (file, traces, lock) = (file, traces, lock)
        try await commits.perform(.alone) { database, _ in
            file.forgetDamaged()
            try Self.rewrite(database, traces, isShared: !lock.isAlone)
        }
    }

    /// Gives back the room of a file that has become empty.
    private func shrink() async {
        let (traces, lock) = (traces, lock)
        do {
            try await commits.perform(.alone) { database, _ in
                try Self.rewrite(database, traces, isShared: !lock.isAlone)
            }
        } catch {
            // A large file works as well as a small one.
        }
    }

    private static func rewrite(_ database: Database, _ traces: Traces, isShared: Bool) throws {
        // It is put together beside the file: in memory if it is small, else in a file without a name.
        let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
        let isLarge = pages > 4_096
        if isLarge { try database.execute(sql: "PRAGMA temp_store = FILE") }
        defer { if isLarge { try? database.execute(sql: "PRAGMA temp_store = MEMORY") } }
        try database.execute(sql: "VACUUM")
        try database.checkpoint(.truncate)
        traces.reset(to: try String.fetchAll(database, sql: "SELECT DISTINCT user FROM event"), isShared: isShared)
    }
}
