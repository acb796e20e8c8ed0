import Foundation
import Synchronization

/// The neutral client, an application's interface to any vendor.
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
/// Create one, pass it on, and shut it down at the end. A client may be used from several tasks at once.
public final class ExperimentationClient: Sendable {
    let core: ClientCore
    let polling = Mutex<[Task<Void, Never>]>([])
    /// The task that follows reports on the network.
    let following = Mutex<Task<Void, Never>?>(nil)

    /// Creates a client, prepares its provider and restores what an earlier run left in the store.
    ///
    /// It doesn't wait for the vendor: waiting events are delivered, and polled rules are fetched, in the background.
    /// While the store can't be read, it tries again for up to 200 milliseconds.
    ///
    /// - Parameters:
    ///   - provider: The vendor.
    ///   - store: Where events and decisions are kept; by default in memory, and so lost with the process.
    ///   - options: The client's settings.
    ///   - environment: The clock, the source of chance and the log.
    /// - Throws: ``ErrorCode/configuration`` if a setting of the provider can't work, or if two of its routes for
    ///   events lead to one destination.
    public init(
        provider: any ExperimentationProvider,
        store: ClientStore = .inMemory(),
        options: ClientOptions = ClientOptions(),
        environment: ClientEnvironment = ClientEnvironment()
    ) async throws(ExperimentationError) {
        let sessions = SessionRegistry()
        let context = ProviderContext(of: provider, in: store.state, environment) { envelope in
            sessions[envelope.session]?.isOpen(envelope.surface)
        }
        let roles = try await provider.start(in: context)
        do throws(ExperimentationError) {
            try roles.checkDestinations(own: provider.destination)
        } catch {
            await roles.stop(environment.time.instant)
            throw error
        }
        core = ClientCore(
            provider: provider,
            roles: roles,
            store: store,
            options: options,
            environment: environment,
            sessions: sessions
        )
        await core.restore(context.patience)
        startPolling()
        startAskingSwitch()
        startListening()
    }

    deinit { stopPolling() }

    // MARK: Sessions

    /// Begins a session for a user.
    ///
    /// It has no decisions until it is refreshed. The user's consent takes effect at once, as if set by
    /// ``UserSession/setConsent(_:)``: denied removes the user's waiting events; granted releases the held ones.
    public func session(for user: User) -> UserSession {
        let session = UserSession(core: core, user: user)
        core.sessions.add(session)
        session.begin()
        return session
    }

    // MARK: Host

    /// Attributes of every user of this client; a change takes effect with the next refresh.
    public var attributes: Attributes {
        get { core.ambient.current.attributes }
        set { core.ambient.update { $0.with(attributes: newValue) } }
    }

    /// Adds hooks that run with every evaluation, after the existing ones.
    public func addHooks(_ hooks: any Hook...) { core.hooks.append(hooks) }

    /// Sets whether the application is in the foreground.
    ///
    /// Going to the background delivers waiting events.
    public func setApplicationState(_ applicationState: ApplicationState) async {
        for session in core.sessions.all { session.setInUse(applicationState == .foreground) }
        core.roles.changes?.setApplicationState(applicationState)
        if applicationState == .background {
            _ = try? await flush(within: core.options.shutdownDeadline)
        }
    }

    /// Sets whether there is a network.
    ///
    /// Without one, deliveries wait instead of failing. ``followConnectivity(_:)`` keeps this up to date.
    public func setConnectivity(_ connectivity: Connectivity) async {
        core.outbox.set(.offline, connectivity == .offline)
    }

    /// Responds to low memory by dropping the cached decisions of users without a session.
    public func handleMemoryWarning() { core.cache.removeAll() }

    // MARK: The provider

    /// The provider's name.
    public var providerName: String { core.provider.name }

    /// The provider's capabilities.
    public var capabilities: Set<Capability> { core.provider.capabilities }

    /// The provider's roles.
    package var roles: ProviderRoles { core.roles }

    /// How fast events are sent at most, if the vendor's adapter limits it.
    public var pace: BatchPolicy.Pace? { core.roles.events?.batching.pace }

    /// The features that only this vendor has; the adapter documents their type and offers typed access.
    public var extras: (any Sendable)? { core.roles.extras }

    /// Returns, by their type, the features that only one vendor has, even where several providers are composed; `nil`
    /// if there are none.
    public func extras<Extras: Sendable>(as type: Extras.Type = Extras.self) -> Extras? {
        if let own = core.roles.extras as? Extras { return own }
        for further in core.roles.furtherExtras { if let found = further as? Extras { return found } }
        return nil
    }

    /// The provider's status.
    public var status: ProviderStatus { core.status.status }

    /// The changes of the provider's status from now on, starting with the current one.
    ///
    /// The sequence ends with ``shutdown(within:)``, or when its consumer stops iterating.
    public func statusEvents() -> AsyncStream<ProviderEvent> { core.status.events() }

    /// Fetches rules from a vendor that publishes them; ``bool(_:default:for:)`` and its siblings read them.
    ///
    /// - Parameter force: Whether to ask the vendor even if the rules haven't expired.
    /// - Throws: Why there are no new rules, or ``ErrorCode/unsupported`` if the vendor publishes none.
    public func refresh(force: Bool = false) async throws(ExperimentationError) {
        guard let rules = core.rules else { throw .unsupported("rules to evaluate here", by: core.provider.name) }
        _ = try await rules.current(force: force)
    }

    // MARK: Overrides

    /// The assignments that this device forces.
    public var overrides: [AssignmentOverride] { core.ambient.current.overrides }

    /// Forces an assignment, or whatever else the override states, on this device, for all its users and across
    /// restarts.
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

    /// Removes the overrides of one experiment, or of all.
    public func removeOverrides(for experiment: String? = nil) async {
        await setOverrides { overrides in
            guard let experiment else { return [] }
            return overrides.filter { $0.experiment != experiment }
        }
    }

    private func setOverrides(_ change: ([AssignmentOverride]) -> [AssignmentOverride]) async {
        core.ambient.update { $0.with(overrides: change($0.overrides)) }
        for session in core.sessions.all { session.state.withLock { $0.revision += 1 } }
        await core.storeOverrides()
    }

    // MARK: Delivery

    /// The ledger of each destination in the store, including destinations that this client doesn't deliver to.
    ///
    /// Events owed to an earlier provider's account wait for a client of that provider, or for ``drop(owedTo:)``.
    ///
    /// - Throws: ``ErrorCode/store``.
    public func ledgers() async throws(ExperimentationError) -> [Destination: Ledger] {
        try await core.outbox.ledgers()
    }

    /// Drops everything that a destination is owed, counted as ``Ledger/DropReason/closed``.
    ///
    /// - Parameter destination: The destination; its ledger stays.
    /// - Returns: How many deliveries were dropped.
    /// - Throws: ``ErrorCode/store``.
    @discardableResult
    public func drop(owedTo destination: Destination) async throws(ExperimentationError) -> Int {
        try await core.outbox.drop(owedTo: destination)
    }

    /// The outcomes of all events ever accepted, for all destinations of this client together.
    public func ledger() async throws(ExperimentationError) -> Ledger { try await core.outbox.ledger() }

    /// The outcomes of events by type since this client was created, for all of its destinations together.
    ///
    /// For observing an application: the counts are kept in memory, start from zero with each run, and exclude events
    /// that the store removed on its own (too old, too many, consent denied). The ledger that balances over all runs is
    /// ``ledger()``.
    public var countsByType: [String: EventCounts] { core.outbox.counters.counts }

    /// What waits for delivery, and why.
    public func outboxStatus() async throws(ExperimentationError) -> OutboxStatus { try await core.outbox.status() }

    /// Returns a page of the events that wait for delivery, oldest first, and leaves them in the store.
    ///
    /// - Parameters:
    ///   - sequence: The ``Envelope/sequence`` at which the last page ended; 0 for the first page.
    ///   - limit: The size of the page.
    /// - Returns: The next events; none at the end.
    /// - Throws: ``ErrorCode/store``; ``ErrorCode/unsupported`` if the store can't list its events.
    public func waitingEvents(
        after sequence: Int64 = 0,
        limit: Int = 1_000
    ) async throws(ExperimentationError) -> [WaitingEvent] {
        try await core.outbox.waitingEvents(after: sequence, limit: limit)
    }

    /// Removes all users' events that wait for this client's destinations.
    ///
    /// What is removed counts as purged, and deliveries under way are interrupted; when this returns, no request with a
    /// removed event is under way. Signals of withdrawn consent stay: they are owed to the users. So do events that the
    /// store keeps for other destinations.
    ///
    /// - Returns: How many deliveries were removed; an event owed to two destinations counts twice.
    /// - Throws: As ``waitingEvents(after:limit:)``.
    @discardableResult
    public func removeWaitingEvents() async throws(ExperimentationError) -> Int { try await core.outbox.removeAll() }

    /// Waits until everything recorded without waiting is in the store: exposures, and events of
    /// ``UserSession/trackSoon(_:at:on:)``.
    ///
    /// From then on it survives the end of the process. If no exposure may be missing, call this before you send an
    /// answer, or before the application is suspended.
    ///
    /// - Throws: ``ErrorCode/store`` while the store accepts nothing (what was recorded waits in memory);
    ///   ``ErrorCode/shutDown``.
    public func untilStored() async throws(ExperimentationError) { try await core.outbox.untilStored() }

    /// Delivers what can be delivered, and waits for that.
    ///
    /// It waits for events that may be retried in time: after an outage, or when the vendor asks for patience. It
    /// returns early once everything is delivered, or when all that is left can be retried only after the deadline or
    /// not at all. Events that are accepted meanwhile may be left.
    ///
    /// - Parameters:
    ///   - duration: How long to wait at most; deliveries under way then go on.
    ///   - retrying: Whether to wait for retries; if not, everything is tried once.
    /// - Returns: What is left: nothing, events held for consent, or events that wait.
    /// - Throws: ``ErrorCode/store`` if the store can't be read or written.
    @discardableResult
    public func flush(
        within duration: Duration = .seconds(30),
        retrying: Bool = true
    ) async throws(ExperimentationError) -> FlushResult {
        try await core.outbox.flush(by: core.environment.time.instant.advanced(by: duration), isPatient: retrying)
    }

    /// Resumes deliveries that stopped because the vendor refused the credentials or the like.
    ///
    /// Call it when the cause is gone: a key was renewed, a contract was fixed. Without it, a single event is tried
    /// after a quarter of an hour, then after twice as long each time, up to four hours, and with the next run.
    public func resumeDelivery() async { core.outbox.resumeAfterRefusal() }

    /// Begins no further delivery until ``beginDelivery()``.
    package func holdDelivery() async { core.outbox.set(.unattended, true) }

    /// Starts deliveries that were waiting for a user, or were held.
    package func beginDelivery() async { core.outbox.set(.unattended, false) }

    /// Delivers what it can within a deadline, and ends.
    ///
    /// Everything that waits is tried once; what the vendor doesn't take stays in the store. To wait for a busy vendor,
    /// call ``flush(within:retrying:)`` first. If time allows, events removed by a denial of consent have been erased
    /// from the store's files when this returns; otherwise they are erased shortly afterwards or when the files are
    /// next opened.
    ///
    /// - Parameter duration: How long it may take; `nil` for the options' deadline.
    public func shutdown(within duration: Duration? = nil) async {
        guard core.close() else { return }
        stopPolling()
        let deadline = core.environment.time.instant.advanced(by: duration ?? core.options.shutdownDeadline)
        _ = try? await core.outbox.flush(by: deadline, isPatient: false)
        await core.outbox.close(by: deadline)
        let patience = core.environment.time.instant.advanced(by: Outbox.leastForStatus)
        await core.environment.time.ends(by: max(deadline, patience)) { [core] in await core.killSwitch.settle() }
        await core.roles.stop(deadline)
        core.end()
    }
}
