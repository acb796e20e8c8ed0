import Foundation

/// Where accepted events are kept until each of their destinations has them.
///
/// Every method is one transaction: it is carried out as a whole or not at all, and when it returns, its outcome
/// survives whatever the store promises to survive. The ledger of each destination is part of those transactions, so it
/// balances after any crash. All methods may be called from any task, and any number of processes may share a store
/// that documents it.
///
/// A store reads no clock: the caller passes the time. It knows leases only from its own records.
///
/// A method is carried out even if its task is cancelled: one caller may store the events of others, and a vendor's
/// answer must be recorded even while a client ends. A store that can wait for long needs limits of its own.
///
/// `OutboxStoreContract` in ConformanceKit has these rules as cases to run against a store of your own. To change a few
/// methods of an existing store, use ``OutboxStoreDecorator``.
public protocol OutboxStore: Sendable {
    /// Accepts events, in order.
    ///
    /// Whether a user denies consent is checked in the same transaction: the event is then refused, unless it is the
    /// consent signal itself. When the store is full, the oldest of the least important events make room and are
    /// counted as ``Ledger/DropReason/overflow`` at each destination that hadn't received them; events under a live
    /// lease are spared.
    ///
    /// Consent that comes with an event is granted even if the event is refused for another reason: what its user did
    /// afterwards mustn't wait for a further call, behind later events.
    ///
    /// - Parameters:
    ///   - events: The events; their ids are new.
    ///   - now: The time.
    /// - Returns: For each event why it was refused, or `nil` if it was accepted: ``ErrorCode/consentDenied``,
    ///   ``ErrorCode/tooLarge``, ``ErrorCode/invalidArgument``.
    /// - Throws: ``ErrorCode/store``; all may have been stored nevertheless, or none.
    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?]

    /// Accepts events, in order, and those that arrive until the transaction ends.
    ///
    /// For a store whose commits wait for a disk: one wait then serves more events. In everything else this is
    /// ``append(_:now:)``.
    ///
    /// - Parameters:
    ///   - events: The events; their ids are new.
    ///   - more: Returns what has arrived, in order: the events after the given number, counted from the first of
    ///     `events`. It never blocks, and for the same number it returns the same events again, and perhaps more. What
    ///     it has returned must be accepted or refused in this transaction. A store needn't call it.
    ///   - now: The time.
    /// - Returns: For each event, including those that `more` returned, why it was refused, or `nil` if it was
    ///   accepted.
    /// - Throws: ``ErrorCode/store``; all may have been stored nevertheless, or none.
    func append(
        _ events: [NewEvent],
        joinedBy more: @escaping @Sendable (_ count: Int) -> [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?]

    /// Where a task should run that stores one batch of events after another; `nil` if any executor will do.
    ///
    /// A store whose transactions run on one thread returns that thread: the next transaction then begins without a
    /// change of thread. Code that runs there must not block.
    var executor: (any TaskExecutor)? { get }

    /// Carries out changes of consent.
    ///
    /// Denied: the user's waiting events are removed at all destinations and count as purged, and a mark stays (a
    /// digest, never the id) by which ``append(_:now:)`` refuses further ones. Only the consent signal itself is left.
    /// Granted: the mark is removed, and held events may be delivered, with their times and in their order. A lease
    /// that covers such an event is no longer current.
    ///
    /// - Parameter changes: The changes; if several are about one user, all are carried out, and the last one decides
    ///   the outcome.
    /// - Returns: How many deliveries were removed, and how many released.
    /// - Throws: ``ErrorCode/store``; all may have been carried out nevertheless, or none.
    func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome

    /// Takes a destination's lane and its next batches, oldest first.
    ///
    /// A lane has one holder at a time. Its events are handed out in the order of acceptance, except for those that are
    /// held, those that may not be tried yet, and those behind such an event of the same user. Nothing is written to
    /// the events themselves: the holder of the lane has them until the lease expires or they are settled.
    ///
    /// - Parameter request: The requester, the destination, the amount, and the earlier lease to continue.
    /// - Returns: The batches, or why there are none.
    /// - Throws: ``ErrorCode/store``; the lane may have been taken nevertheless, and asking again returns it.
    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer

    /// Returns whether leased events may still be sent: the lane has no other holder, and nothing has happened to an
    /// event that was handed out.
    ///
    /// Must be cheap enough to be called before each request.
    func isCurrent(_ token: LeaseToken) async throws(ExperimentationError) -> Bool

    /// Records the outcomes of leased events.
    ///
    /// A delivered event counts even if the lane has another holder by now; any other outcome is then ignored. Events
    /// that aren't mentioned stay as they are. An event that no longer exists counts for nothing, so settling twice is
    /// harmless.
    ///
    /// - Parameters:
    ///   - settlements: The outcomes.
    ///   - token: The lease under which they were handed out.
    ///   - now: The time.
    /// - Returns: Whether the lease is still current, as ``isCurrent(_:)`` defines it.
    /// - Throws: ``ErrorCode/store``.
    func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool

    /// Releases a lane; what wasn't settled can be leased again at once.
    ///
    /// - Parameters:
    ///   - token: The lease; if the lane has another holder by now, nothing changes.
    ///   - pause: Why deliveries end, and when the next may begin; `nil` if nothing forbids one.
    ///   - now: The time.
    /// - Throws: ``ErrorCode/store``.
    func release(_ token: LeaseToken, pause: DeliveryPause?, now: Date) async throws(ExperimentationError)

    /// Drops unleased deliveries older than a date, and counts them as ``Ledger/DropReason/expired``.
    ///
    /// - Returns: How many deliveries were dropped.
    func expire(before date: Date, owedTo destination: Destination, now: Date) async throws(ExperimentationError) -> Int

    /// Removes everything that is owed to a destination.
    ///
    /// - Parameters:
    ///   - destination: The destination.
    ///   - account: How to count them; if they count as purged, signals of consent stay, because they are owed to the
    ///     users.
    /// - Returns: How many deliveries were removed.
    /// - Throws: ``ErrorCode/store``.
    func remove(owedTo destination: Destination, as account: RemovalAccount) async throws(ExperimentationError) -> Int

    /// The destinations that this store has ledgers of, in the order in which they were first named.
    func destinations() async throws(ExperimentationError) -> [Destination]

    /// What waits.
    ///
    /// - Parameters:
    ///   - destination: The destination; `nil` for all together, where an event owed to two counts twice.
    ///   - now: The time.
    /// - Returns: What waits.
    /// - Throws: ``ErrorCode/store``.
    func status(of destination: Destination?, now: Date) async throws(ExperimentationError) -> OutboxStatus

    /// The ledger of one destination, or of all together if `nil`.
    func ledger(of destination: Destination?) async throws(ExperimentationError) -> Ledger

    /// A page of the waiting events, oldest first; they stay in the store.
    ///
    /// - Parameters:
    ///   - sequence: The ``Envelope/sequence`` at which the last page ended; 0 for the first page.
    ///   - limit: The size of the page.
    /// - Returns: The next events; none at the end.
    /// - Throws: ``ErrorCode/store``; ``ErrorCode/unsupported`` if the store can't list its events.
    func waiting(after sequence: Int64, limit: Int) async throws(ExperimentationError) -> [WaitingEvent]

    /// The number of deliveries dropped to make room since this store was created or opened; never decreases.
    ///
    /// Read after every acceptance, so it must be quick. May include a few that another process delivered before they
    /// were removed; ``ledger(of:)`` is exact.
    var overflowed: Int { get }

    /// Identifies the contents that the ledgers are part of; every store over the same contents has the same id.
    ///
    /// Code that counts events uses it to recognize that two stores, opened side by side or one after the other, share
    /// a ledger. The location isn't enough: contents that are created anew there, as after a file was deleted, need
    /// another id, such as one with a random part that they keep from their creation. A store whose contents become
    /// part of other contents, ledgers included, has the id of those from then on. It keeps the id while the contents
    /// can't be read, and when it is closed. `nil`, the default, means that no other store has these ledgers.
    var contentsID: String? { get }

    /// Waits until no trace is left, in any file, of what was removed.
    ///
    /// A store that erases later than it removes does so now. A client's shutdown waits for it, up to its deadline.
    ///
    /// - Throws: ``ErrorCode/store`` if it can't be erased now.
    func finishErasing() async throws(ExperimentationError)
}

/// How to count removed deliveries.
public enum RemovalAccount: Sendable, Hashable {
    /// As ``Ledger/purged``: they were removed by request.
    case purged
    /// As ``Ledger/dropped``, with a reason.
    case dropped(Ledger.DropReason)
}

extension OutboxStore {
    /// Any executor will do.
    public var executor: (any TaskExecutor)? { nil }

    /// Accepts the first events; what arrives meanwhile gets a transaction of its own.
    public func append(
        _ events: [NewEvent],
        joinedBy more: @escaping @Sendable (_ count: Int) -> [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?] { try await append(events, now: now) }

    /// No other store has these ledgers.
    public var contentsID: String? { nil }

    /// The ledger of all destinations together.
    public func ledger() async throws(ExperimentationError) -> Ledger { try await ledger(of: nil) }

    /// What waits for all destinations together; an event owed to two counts twice.
    public func status(now: Date) async throws(ExperimentationError) -> OutboxStatus {
        try await status(of: nil, now: now)
    }
}
