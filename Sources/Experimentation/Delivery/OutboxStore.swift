import Foundation

/// Where accepted events are kept until they are delivered.
///
/// An implementation keeps the ledger in the same transaction as the events, so that it balances after any crash. All
/// methods may be called from any task at once.
public protocol OutboxStore: Sendable {
    /// Accepts events: when this returns, they survive whatever the store promises to survive.
    ///
    /// When the store is full, the oldest of the least important events make room and are counted as
    /// ``Ledger/DropReason/overflow``.
    ///
    /// - Parameters:
    ///   - envelopes: The events; their ids are new.
    ///   - isHeld: Whether they wait for consent.
    /// - Throws: ``ErrorCode/store`` when nothing was accepted, ``ErrorCode/tooLarge`` for an event over the limit.
    func append(_ envelopes: [Envelope], isHeld: Bool) async throws(ExperimentationError)

    /// Takes the next batches to deliver, oldest first, and keeps others from taking them until the lease is over; they are
    /// delivered one after another.
    ///
    /// Skips what is held, what is leased, what may not be tried yet, and every later event of a user of whom an
    /// earlier one is skipped for the last two reasons, so that each user's events stay in order. To take several batches
    /// at once spares a store most of the work; one that gives a single batch each time is as good, but slower.
    ///
    /// - Parameter wanted: How many, of which size, for how long.
    /// - Returns: The batches, in order, none of them empty; all now leased.
    /// - Throws: ``ErrorCode/store``; nothing is leased then.
    func lease(_ wanted: LeaseRequest) async throws(ExperimentationError) -> [[Envelope]]

    /// Writes down what became of leased events, all or nothing, and ends their leases.
    func settle(_ settlements: [Settlement]) async throws(ExperimentationError)

    /// Lets held events of a user go; they keep their times and their order.
    func release(userID: String) async throws(ExperimentationError)

    /// Removes a user's waiting events without a trace, but for the consent signal itself.
    ///
    /// - Returns: How many were removed; they count as purged.
    func purge(userID: String) async throws(ExperimentationError) -> Int

    /// Drops what is older than a moment, and counts it as ``Ledger/DropReason/expired``.
    func expire(before date: Date) async throws(ExperimentationError) -> Int

    /// What waits.
    func status(now: Date) async throws(ExperimentationError) -> OutboxStatus

    /// The accounts.
    func ledger() async throws(ExperimentationError) -> Ledger

    /// The events that wait, oldest first, page by page; they stay as they are.
    ///
    /// - Parameters:
    ///   - sequence: The ``Envelope/sequence`` at which the last page ended; 0 at the beginning.
    ///   - limit: How many at most.
    /// - Returns: The next events; none at the end.
    /// - Throws: ``ErrorCode/store``; ``ErrorCode/unsupported`` by a store that can't be looked into.
    func waiting(after sequence: Int64, limit: Int) async throws(ExperimentationError) -> [WaitingEvent]
}

extension OutboxStore {
    /// Says that this store can't be looked into.
    public func waiting(after sequence: Int64, limit: Int) async throws(ExperimentationError) -> [WaitingEvent] {
        throw ExperimentationError(.unsupported, "This store can't be looked into.")
    }
}

extension OutboxStore {
    /// Takes one batch, as ``lease(_:)`` does.
    public func lease(
        _ limit: Int,
        bytes: Int,
        now: Date,
        until: Date
    ) async throws(ExperimentationError) -> [Envelope] {
        guard limit > 0 else { return [] }
        return try await lease(LeaseRequest(of: limit, bytes: bytes, now: now, until: until)).first ?? []
    }
}

/// What became of one leased event.
public enum Settlement: Sendable, Hashable {
    /// The vendor has it.
    case delivered(id: String)
    /// It goes back, to be tried from a moment on.
    ///
    /// - Parameters:
    ///   - id: The event.
    ///   - at: When it may be tried again.
    ///   - attempts: How many attempts have counted against it.
    ///   - reason: Why it wasn't delivered; empty if it wasn't tried.
    case retry(id: String, at: Date, attempts: Int, reason: String)
    /// It is given up.
    case dropped(id: String, reason: Ledger.DropReason, detail: String)

    /// The event.
    public var id: String {
        switch self {
        case .delivered(let id), .retry(let id, _, _, _), .dropped(let id, _, _): id
        }
    }
}

/// What waits in an outbox.
public struct OutboxStatus: Sendable, Hashable, Codable {
    /// How many events could be delivered now.
    public var ready: Int
    /// How many wait for consent.
    public var held: Int
    /// How many wait after a failure.
    public var delayed: Int
    /// How many are being delivered.
    public var leased: Int
    /// How many bytes the waiting events take.
    public var bytes: Int
    /// When the first of them, in the order of acceptance, happened.
    public var oldest: Date?
    /// When the next delayed one may be tried.
    public var nextAttempt: Date?
    /// The last reasons for failure, with how many events they belong to.
    public var failures: [String: Int]

    /// Creates a status.
    public init(
        ready: Int = 0,
        held: Int = 0,
        delayed: Int = 0,
        leased: Int = 0,
        bytes: Int = 0,
        oldest: Date? = nil,
        nextAttempt: Date? = nil,
        failures: [String: Int] = [:]
    ) {
        self.ready = ready
        self.held = held
        self.delayed = delayed
        self.leased = leased
        self.bytes = bytes
        self.oldest = oldest
        self.nextAttempt = nextAttempt
        self.failures = failures
    }
}
