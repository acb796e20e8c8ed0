import Foundation

/// Where accepted events are kept until each of their destinations has them.
///
/// Every method is one transaction: it is carried out whole or not at all, and when it returns, its outcome survives
/// whatever the store promises to survive. The accounts of each destination are part of those transactions, so they
/// balance after any crash. All methods may be called from any task, and any number of processes may share a store that
/// says so.
///
/// A store reads no clock: the caller says what time it is. It has no memory of who leases what beyond what it has
/// written down.
///
/// `OutboxStoreContract` in ConformanceKit has the rules below as cases to run over a store of one's own. To change a few
/// methods of a store that is there, use ``OutboxStoreDecorator``.
public protocol OutboxStore: Sendable {
    /// Accepts events, in their order.
    ///
    /// Whether a user denies consent is asked in the same transaction: then the event is refused, unless it is the
    /// consent signal itself. When the store is full, the oldest of the least important events make room and are counted
    /// as ``Ledger/DropReason/overflow`` at each destination that hadn't got them; events in the hands of a live lease
    /// are spared.
    ///
    /// - Parameters:
    ///   - events: The events; their ids are new.
    ///   - now: The time.
    /// - Returns: For each event why it was refused, or `nil` if it was accepted: ``ErrorCode/consentDenied``,
    ///   ``ErrorCode/tooLarge``, ``ErrorCode/invalidArgument``.
    /// - Throws: ``ErrorCode/store`` when none was accepted.
    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?]

    /// Carries out what users say of being tracked.
    ///
    /// Denied: the user's waiting events are removed at all destinations and count as purged, and a mark stays (a digest,
    /// never the id) by which ``append(_:now:)`` refuses further ones. Only the consent signal itself is left. Granted:
    /// the mark goes, and held events may be delivered, with their times and in their order. A lease that has such an
    /// event in its hands is no longer current.
    ///
    /// - Parameter changes: The changes; of several about one user all are carried out, the last one decides what is so
    ///   from now on.
    /// - Returns: How many deliveries were removed, and how many released.
    /// - Throws: ``ErrorCode/store``; nothing has changed then.
    func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome

    /// Takes a destination's lane and its next batches, oldest first.
    ///
    /// A lane has one holder at a time. Its events are given in the order of acceptance, but for those that are held,
    /// that may not be tried yet, and that come behind such a one of the same user. Nothing is written to the events
    /// themselves: the holder of the lane has them, until the lease ends or they are settled.
    ///
    /// - Parameter request: Who asks, for which destination, for how much, and behind which earlier lease.
    /// - Returns: The batches, or why there are none.
    /// - Throws: ``ErrorCode/store``; the lane may have been taken all the same, and asking again gives it.
    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer

    /// Tells whether what was leased may still be sent: no other holds the lane, and nothing has happened to an event that
    /// was given out.
    ///
    /// Cheap enough to be asked before each request.
    func isCurrent(_ token: LeaseToken) async throws(ExperimentationError) -> Bool

    /// Writes down what became of leased events.
    ///
    /// What was delivered counts, even if the lane has another holder by now; everything else is left out if the lane has another
    /// holder. What isn't mentioned stays as it is. An event that is no longer there counts for nothing, so settling twice
    /// is harmless.
    ///
    /// - Parameters:
    ///   - settlements: What became of events.
    ///   - token: The lease that they were given under.
    ///   - now: The time.
    /// - Returns: Whether the lease is still current, as ``isCurrent(_:)`` has it.
    /// - Throws: ``ErrorCode/store``.
    func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool

    /// Lets go of a lane; what wasn't settled can be leased again at once.
    ///
    /// - Parameters:
    ///   - token: The lease; if the lane has another holder by now, nothing changes.
    ///   - pause: Why deliveries end, and until when none begins; `nil` if nothing forbids one.
    ///   - now: The time.
    /// - Throws: ``ErrorCode/store``.
    func release(_ token: LeaseToken, pause: DeliveryPause?, now: Date) async throws(ExperimentationError)

    /// Drops what is older than a moment and not leased, and counts it as ``Ledger/DropReason/expired``.
    ///
    /// - Returns: How many deliveries were dropped.
    func expire(before date: Date, owedTo destination: Destination, now: Date) async throws(ExperimentationError) -> Int

    /// Removes everything that is owed to a destination.
    ///
    /// - Parameters:
    ///   - destination: Whose deliveries.
    ///   - account: How they are counted; signals of consent stay if they count as purged, because they are owed to the
    ///     users.
    /// - Returns: How many deliveries were removed.
    /// - Throws: ``ErrorCode/store``.
    func remove(owedTo destination: Destination, as account: RemovalAccount) async throws(ExperimentationError) -> Int

    /// The destinations that this store has accounts of, in the order in which they were first named.
    func destinations() async throws(ExperimentationError) -> [Destination]

    /// What waits.
    ///
    /// - Parameters:
    ///   - destination: For whom; for all together if `nil`, an event that two wait for counted twice.
    ///   - now: The time.
    /// - Returns: What waits.
    /// - Throws: ``ErrorCode/store``.
    func status(of destination: Destination?, now: Date) async throws(ExperimentationError) -> OutboxStatus

    /// The accounts of one destination, or of all together if `nil`.
    func ledger(of destination: Destination?) async throws(ExperimentationError) -> Ledger

    /// The events that wait, oldest first, page by page; they stay as they are.
    ///
    /// - Parameters:
    ///   - sequence: The ``Envelope/sequence`` at which the last page ended; 0 at the beginning.
    ///   - limit: How many at most.
    /// - Returns: The next events; none at the end.
    /// - Throws: ``ErrorCode/store``; ``ErrorCode/unsupported`` by a store that can't be looked into.
    func waiting(after sequence: Int64, limit: Int) async throws(ExperimentationError) -> [WaitingEvent]

    /// How many deliveries this store has given up to make room since it was made or opened; never fewer than before.
    ///
    /// Asked after every acceptance, so it must be quick; 0 for a store that doesn't say.
    var overflowed: Int { get }

    /// Waits until nothing is left, wherever it was kept, of what was removed.
    ///
    /// A store that may erase later than it removes does so now. The end of a client waits for it, up to its deadline.
    ///
    /// - Throws: ``ErrorCode/store`` if it can't be erased now.
    func finishErasing() async throws(ExperimentationError)
}

/// How removed deliveries are counted.
public enum RemovalAccount: Sendable, Hashable {
    /// As ``Ledger/purged``: they were to be forgotten by request.
    case purged
    /// As ``Ledger/dropped``, for a reason.
    case dropped(Ledger.DropReason)
}

extension OutboxStore {
    /// Nothing is said of it.
    public var overflowed: Int { 0 }

    /// The accounts of all destinations together.
    public func ledger() async throws(ExperimentationError) -> Ledger { try await ledger(of: nil) }

    /// What waits for all destinations together; an event that two wait for is counted twice.
    public func status(now: Date) async throws(ExperimentationError) -> OutboxStatus {
        try await status(of: nil, now: now)
    }
}
