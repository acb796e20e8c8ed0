import Foundation
import Synchronization

/// What an application talks to: one neutral client in front of whichever vendor it pays today.
///
/// ```swift
/// let client = try await ExperimentationClient(
///     provider: provider,
///     store: .sqlite(at: url)
/// )
/// let session = client.session(for: User(id: "u-1", consent: .granted))
/// try await session.refresh()
/// let isNew = session.bool("newCheckout", default: false)
/// await client.shutdown()
/// ```
///
/// Make one, pass it on, shut it down at the end. A client may be used from any task at once.
public final class ExperimentationClient: Sendable {
    let core: ClientCore
    let polling = Mutex<[Task<Void, Never>]>([])
    /// What listens to what is said of the network.
    let following = Mutex<Task<Void, Never>?>(nil)

    /// Creates a client, prepares its provider and takes over what an earlier run left in the store.
    ///
    /// It doesn't wait for the vendor: events that wait are delivered, and rules that are polled are fetched, in the
    /// background.
    ///
    /// - Parameters:
    ///   - provider: The vendor.
    ///   - store: Where events and decisions are kept; in memory, and so lost with the process, unless another is named.
    ///   - options: How the client behaves.
    ///   - environment: Time, chance and a place for messages.
    /// - Throws: ``ErrorCode/configuration`` when a setting of the provider can't work.
    public init(
        provider: any ExperimentationProvider,
        store: ClientStore = .inMemory(),
        options: ClientOptions = ClientOptions(),
        environment: ClientEnvironment = ClientEnvironment()
    ) async throws(ExperimentationError) {
        let context = ProviderContext(of: provider, in: store.state, environment)
        let roles = try await provider.start(in: context)
        core = ClientCore(provider: provider, roles: roles, store: store, options: options, environment: environment)
        await core.restore()
        startPolling()
        startAskingSwitch()
        startListening()
    }

    deinit { stopPolling() }

    // MARK: Sessions

    /// Begins a session for a user.
    ///
    /// It has no decisions until it is refreshed. What the user says of being tracked counts from now on, as if it were
    /// said by ``UserSession/setConsent(_:)``: denied, what waits of theirs is removed; granted, what is held is released.
    public func session(for user: User) -> UserSession {
        let session = UserSession(core: core, user: user)
        core.sessions.add(session)
        session.begin()
        return session
    }

    // MARK: What the host knows

    /// What is known of every user of this client; it counts from the next refresh on.
    public var attributes: Attributes {
        get { core.ambient.current.attributes }
        set { core.ambient.update { $0.with(attributes: newValue) } }
    }

    /// Adds code that runs with every evaluation, after the hooks that are there.
    public func addHooks(_ hooks: any Hook...) { core.hooks.append(hooks) }

    /// Tells whether the application is in front of its user.
    ///
    /// Going to the background delivers what waits.
    public func setApplicationState(_ applicationState: ApplicationState) async {
        for session in core.sessions.all { session.setInUse(applicationState == .foreground) }
        core.roles.changes?.setApplicationState(applicationState)
        if applicationState == .background {
            _ = try? await flush(within: core.options.shutdownDeadline)
        }
    }

    /// Tells whether there is a network.
    ///
    /// Without one, deliveries wait instead of failing. ``followConnectivity(_:)`` tells it by itself.
    public func setConnectivity(_ connectivity: Connectivity) async {
        await core.outbox.set(.offline, connectivity == .offline)
    }

    /// Tells that memory is short: cached decisions of users without a session are let go.
    public func handleMemoryWarning() { core.cache.removeAll() }

    // MARK: The provider

    /// The provider's name.
    public var providerName: String { core.provider.name }

    /// What the provider can do.
    public var capabilities: Set<Capability> { core.provider.capabilities }

    /// What the provider plays.
    package var roles: ProviderRoles { core.roles }

    /// How fast events are sent at most, if the vendor's adapter keeps a pace.
    public var pace: BatchPolicy.Pace? { core.roles.events?.batching.pace }

    /// What only this vendor has; its adapter says of what type it is, and has a shorter way to it.
    public var extras: (any Sendable)? { core.roles.extras }

    /// What only one vendor has, found by its type, also where the provider is made of several; `nil` if there is none.
    public func extras<Extras: Sendable>(as type: Extras.Type = Extras.self) -> Extras? {
        if let own = core.roles.extras as? Extras { return own }
        for further in core.roles.furtherExtras { if let found = further as? Extras { return found } }
        return nil
    }

    /// The provider's status.
    public var status: ProviderStatus { core.status.status }

    /// The changes of the provider's status from now on, the present one first.
    ///
    /// The sequence ends with ``shutdown(within:)``, or when its consumer stops iterating.
    public func statusEvents() -> AsyncStream<ProviderEvent> { core.status.events() }

    /// Fetches rules, for a vendor that publishes them; ``bool(_:default:for:)`` and its siblings read them.
    ///
    /// - Parameter force: Whether to ask the vendor although the rules are still good.
    /// - Throws: Why there are no new rules, or ``ErrorCode/unsupported`` if the vendor publishes none.
    public func refresh(force: Bool = false) async throws(ExperimentationError) {
        guard let rules = core.rules else { throw .unsupported("rules to evaluate here", by: core.provider.name) }
        _ = try await rules.current(force: force)
    }

    // MARK: Overrides

    /// What this device forces.
    public var overrides: [AssignmentOverride] { core.ambient.current.overrides }

    /// Forces an assignment on this device, for all its users and over restarts, or with another call something else.
    ///
    /// Decisions follow with the next refresh of each session.
    ///
    /// - Throws: ``ErrorCode/unsupported`` if the vendor's decisions can't be forced here.
    public func force(_ override: AssignmentOverride) async throws(ExperimentationError) {
        guard core.roles.assignments.allowsOverrides else {
            throw .unsupported("assignments that can be forced", by: core.provider.name)
        }
        await setOverrides { $0.filter { $0.experiment != override.experiment } + [override] }
    }

    /// Lets go of what is forced for one experiment, or for all.
    public func removeOverrides(for experiment: String? = nil) async {
        await setOverrides { overrides in
            guard let experiment else { return [] }
            return overrides.filter { $0.experiment != experiment }
        }
    }

    private func setOverrides(_ change: ([AssignmentOverride]) -> [AssignmentOverride]) async {
        core.ambient.update { $0.with(overrides: change($0.overrides)) }
        let overrides = overrides
        for session in core.sessions.all { session.state.withLock { $0.revision += 1 } }
        await core.kept.write(overrides.isEmpty ? nil : overrides, .overrides)
    }

    // MARK: Delivery

    /// The accounts of each destination in the store, those included that this client doesn't deliver to.
    ///
    /// What an earlier provider's account was owed waits for a client of that provider, or for ``drop(owedTo:)``.
    ///
    /// - Throws: ``ErrorCode/store``.
    public func ledgers() async throws(ExperimentationError) -> [Destination: Ledger] {
        try await core.outbox.ledgers()
    }

    /// Gives up everything that a destination is owed, and counts it as ``Ledger/DropReason/closed``.
    ///
    /// - Parameter destination: The destination; its accounts stay.
    /// - Returns: How many deliveries were given up.
    /// - Throws: ``ErrorCode/store``.
    @discardableResult
    public func drop(owedTo destination: Destination) async throws(ExperimentationError) -> Int {
        try await core.outbox.drop(owedTo: destination)
    }

    /// The accounts: what became of every event ever accepted, at all destinations of this client together.
    public func ledger() async throws(ExperimentationError) -> Ledger { try await core.outbox.ledger() }

    /// What became of events by their type since this client began, at all of its destinations together.
    ///
    /// For looking into what an application does: the counts live in memory and begin at nothing with each run, and what
    /// the store removed by itself (too old, too many, consent denied) isn't among them. The accounts that balance, over all
    /// runs, are those of ``ledger()``.
    public var countsByType: [String: EventCounts] { core.outbox.counters.counts }

    /// What waits to be delivered, and why.
    public func outboxStatus() async throws(ExperimentationError) -> OutboxStatus { try await core.outbox.status() }

    /// The events that wait to be delivered, oldest first, page by page; they stay as they are.
    ///
    /// - Parameters:
    ///   - sequence: The ``Envelope/sequence`` at which the last page ended; 0 at the beginning.
    ///   - limit: How many at most.
    /// - Returns: The next events; none at the end.
    /// - Throws: ``ErrorCode/store``; ``ErrorCode/unsupported`` by a store that can't be looked into.
    public func waitingEvents(
        after sequence: Int64 = 0,
        limit: Int = 1_000
    ) async throws(ExperimentationError) -> [WaitingEvent] {
        try await core.outbox.waitingEvents(after: sequence, limit: limit)
    }

    /// Removes every waiting event, of all users.
    ///
    /// What is under way is stopped first, and what is removed counts as purged. Signals of withdrawn consent stay: they are owed to the users.
    ///
    /// - Returns: How many events were removed.
    /// - Throws: As ``waitingEvents(after:limit:)``.
    @discardableResult
    public func removeWaitingEvents() async throws(ExperimentationError) -> Int { try await core.outbox.removeAll() }

    /// Delivers what can be delivered, and waits for that.
    ///
    /// What may be tried again in time is waited for: after an outage, or when the vendor asks for patience. It returns
    /// early once everything is delivered, and when all that is left may only be tried after the deadline or not at all.
    ///
    /// - Parameters:
    ///   - duration: How long to wait at most; whatever is under way then goes on.
    ///   - retrying: Whether to wait for what may be tried again; if not, everything is tried once.
    /// - Returns: What is left: nothing, events that are held for consent, or events that wait.
    /// - Throws: ``ErrorCode/store`` when the store can't be read or written.
    @discardableResult
    public func flush(
        within duration: Duration = .seconds(30),
        retrying: Bool = true
    ) async throws(ExperimentationError) -> FlushResult {
        try await core.outbox.flush(by: core.environment.time.instant.advanced(by: duration), isPatient: retrying)
    }

    /// Has deliveries begin again that the vendor stopped by refusing the credentials or the like.
    ///
    /// Call it when the reason is gone: a key was renewed, a contract mended. Without it, the vendor is tried again with a
    /// single event after a quarter of an hour, then after twice as long each time up to four hours, and by the next run.
    public func resumeDelivery() async { await core.outbox.resumeAfterRefusal() }

    /// Has deliveries begin, if they were to wait for a user.
    package func beginDelivery() async { await core.outbox.set(.unattended, false) }

    /// Delivers what it can within a deadline, and ends.
    ///
    /// Everything that waits is tried once; what the vendor doesn't take then stays in the store. To wait for a vendor that
    /// is busy, ``flush(within:)`` before. What a denial of consent removed is erased from the store's files by then, if
    /// there is time left; otherwise right behind, or when they are opened the next time.
    ///
    /// - Parameter duration: How long it takes at most; what the options say if `nil`.
    public func shutdown(within duration: Duration? = nil) async {
        guard core.close() else { return }
        stopPolling()
        let deadline = core.environment.time.instant.advanced(by: duration ?? core.options.shutdownDeadline)
        _ = try? await core.outbox.flush(by: deadline, isPatient: false)
        await core.outbox.close(by: deadline)
        await core.killSwitch.settle()
        await core.roles.stop(deadline)
        core.status.finish()
    }
}
