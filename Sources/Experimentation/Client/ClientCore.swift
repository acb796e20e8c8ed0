import Foundation
import Synchronization

/// The state that a client and its sessions share.
final class ClientCore: Sendable {
    let provider: any ExperimentationProvider
    let roles: ProviderRoles
    let options: ClientOptions
    let environment: ClientEnvironment
    let status = StatusBoard()
    let kept: KeptState
    let decisionTrimmer: StateTrimmer
    let outbox: Outbox
    /// Holds back callers while too many events wait, if the options say so.
    let brake: Brake?
    let killSwitch: KillSwitch
    /// The rules in use, if decisions are computed here.
    let rules: RulesInUse?
    let sessions: SessionRegistry
    let links = LinksUnderWay()
    /// Tells work under way for a user that the user has denied consent.
    let denials = UserRemovals()
    let unheardChanges = UnheardChanges()
    let decisionFlights = SingleFlight<SharedQuestion, VendorAnswer>()
    let cache: DecisionCache
    /// The policy for reusing answers of a vendor that is asked.
    let reused: ReusedAnswers
    let exposures: RecentExposures
    /// Hooks that run with every evaluation.
    let hooks: HookList
    let hookScope: HookScope
    /// Values of flags that override the vendor's in this process.
    let flagOverrides = FlagOverrides()
    /// The decisions to read until there are others.
    let bootstrap: Decisions?
    /// What underlies every user's own context; read with every evaluation without a session.
    let ambient: Lanes<Ambient>
    private let overridesTurn = AsyncSemaphore(limit: 1)
    private let isClosed = Atomic<Bool>(false)
    /// Whether it has been logged that the vendor takes no exposures.
    let hasToldOfExposures = Atomic<Bool>(false)

    /// What underlies every user's own context.
    final class Ambient: Sendable {
        let attributes: Attributes
        let overrides: [AssignmentOverride]

        init(attributes: Attributes, overrides: [AssignmentOverride] = []) {
            self.attributes = attributes
            self.overrides = overrides
        }

        func with(attributes: Attributes? = nil, overrides: [AssignmentOverride]? = nil) -> Ambient {
            Ambient(attributes: attributes ?? self.attributes, overrides: overrides ?? self.overrides)
        }
    }

    init(
        provider: any ExperimentationProvider,
        roles: ProviderRoles,
        store: ClientStore,
        options: ClientOptions,
        environment: ClientEnvironment,
        sessions: SessionRegistry
    ) {
        self.provider = provider
        self.options = options
        self.environment = environment
        self.sessions = sessions
        var roles = roles
        if let batching = options.batching { roles.rebatch(batching) }
        self.roles = roles
        kept = KeptState(
            store: store.state,
            of: provider.destination,
            log: environment.log,
            forgetElsewhere: roles.forget
        )
        decisionTrimmer = kept.trimmer(of: "decisions/", to: options.cachedUsers)
        let events = DeliveryEvents()
        brake = options.backPressure.map { Brake($0, time: environment.time) }
        let overflow = OverflowWatch(store.outbox) { [status, environment] count in
            let error = ExperimentationError.overflow(count)
            environment.log.log(.error, "outbox.overflow", error.message)
            status.mention(.eventsDropped, error: error)
        }
        outbox = Outbox(
            store: store.outbox,
            kept: kept,
            routes: (roles.events.map { sink in
                [EventRoute(to: provider.destination, by: sink, needsConsent: roles.needsConsent)]
            } ?? []) + roles.furtherRoutes,
            isFirstAsked: roles.events != nil,
            environment: environment,
            events: events,
            accepted: { overflow.look() }
        )
        killSwitch = KillSwitch(kept: kept, status: status, outbox: outbox, time: environment.time) { [sessions] in
            for session in sessions.all { session.announceChangeOfAll() }
        }
        if case .computed(let source) = roles.decisions {
            rules = RulesInUse(
                keeper: RulesetKeeper(source: source, of: provider.name, state: kept, environment: environment),
                afterExpiry: options.afterExpiry ?? source.freshness.afterExpiry,
                status: status,
                killSwitch: killSwitch
            ) { [killSwitch, environment] error, hasDecisions in
                Self.announce(error, of: provider, hasDecisions, killSwitch, environment.log)
            }
        } else {
            rules = nil
        }
        cache = DecisionCache(
            bytes: options.decisionCacheBytes,
            contexts: options.answerReuse == nil ? 1 : Self.contextsOfUser
        )
        reused = ReusedAnswers(options.answerReuse)
        exposures = RecentExposures(limit: 10_000)
        hooks = HookList(options.hooks)
        bootstrap = options.bootstrap?.decisions
        hookScope = HookScope(clientName: options.name, providerName: provider.name)
        ambient = Lanes(Ambient(attributes: options.attributes))
        events.listen { [weak self] in await self?.receive($0) }
    }

    // MARK: Life cycle

    /// Whether the vendor's kill switch is on.
    var isDisabled: Bool { killSwitch.isOn }

    /// Restores the state of an earlier run.
    ///
    /// - Parameter patience: How long to try while the store can't be read.
    func restore(_ patience: ReadingPatience) async {
        await killSwitch.restore(patience)
        if let overrides = try? await kept.find([AssignmentOverride].self, .overrides, patience) {
            ambient.update { $0.with(overrides: overrides) }
        }
        await rules?.restore(patience)
        if options.waitsForUser { outbox.set(.unattended, true) }
        await outbox.resume()
    }

    /// Stores the current overrides after all earlier calls have stored theirs, so that the last write has the latest
    /// list.
    func storeOverrides() async {
        await overridesTurn.run {
            let overrides = self.ambient.current.overrides
            await self.kept.write(overrides.isEmpty ? nil : overrides, .overrides)
        }
    }

    /// Marks the client as shut down.
    ///
    /// - Returns: Whether this call did it.
    func close() -> Bool { !isClosed.exchange(true, ordering: .relaxed) }

    /// Ends the announcements of the client and its sessions.
    func end() {
        status.finish()
        for session in sessions.all { session.endChanges() }
    }

    /// Announces that a fetch failed.
    func fetchFailed(_ error: ExperimentationError, hasDecisions: Bool) {
        Self.announce(error, of: provider, hasDecisions, killSwitch, environment.log)
    }

    private static func announce(
        _ error: ExperimentationError,
        of provider: any ExperimentationProvider,
        _ hasDecisions: Bool,
        _ killSwitch: KillSwitch,
        _ log: any LogSink
    ) {
        log.log(.warning, "refresh.failed", "No decisions from \(provider.name): \(error)")
        if hasDecisions {
            killSwitch.announce(.stale, .stale, error: error)
        } else {
            killSwitch.announce(.error, error.code == .providerFatal ? .fatal : .error, error: error)
        }
    }

    /// The error for a vendor that makes no decisions.
    var noDecisions: ExperimentationError {
        let what = roles.campaigns == nil ? "flags or experiments" : "flags; its campaigns come as answers to events"
        return .unsupported(what, by: provider.name)
    }

    // MARK: Contexts

    /// Returns everything that decisions for a user depend on.
    func context(
        for user: User,
        earlierAssignments: [String: String] = [:],
        attributeDates: [String: Date] = [:],
        revision: UInt64 = 0
    ) -> EvaluationContext {
        var user = user.identified
        let (attributes, overrides) = ambient.read { ($0.attributes, $0.overrides) }
        let transaction = TransactionAttributes.current
        if !(transaction.isEmpty && attributes.isEmpty && options.sharedAttributes == nil) {
            let shared = options.sharedAttributes?.attributes ?? [:]
            user.attributes = shared.merging(transaction).merging(attributes).merging(user.attributes)
        }
        return EvaluationContext(
            user: user,
            earlierAssignments: earlierAssignments,
            overrides: overrides,
            attributeDates: attributeDates,
            date: environment.time.now,
            revision: revision
        )
    }

    // MARK: Deliveries

    /// Acts on the outcome of a delivery.
    private func receive(_ event: DeliveryEvent) async {
        brake?.release()
        if event.isDisabled { await killSwitch.set(true) }
        if let error = event.refusal {
            environment.log.log(.error, "delivery.stopped", "Nothing is delivered any more: \(error)")
            killSwitch.announce(.error, .error, error: error)
        }
        if event.hasResumed, status.status == .error { killSwitch.announce(.ready, .ready) }
        for (envelope, campaigns) in event.answers { sessions[envelope.session]?.receive(campaigns, for: envelope) }
        guard roles.campaigns != nil else { return }
        for envelope in event.settled { sessions[envelope.session]?.forgetEpoch(of: envelope) }
    }
}

extension ExperimentationError {
    /// Announces that the full store dropped this many deliveries.
    fileprivate static func overflow(_ count: Int) -> Self {
        ExperimentationError(
            .outboxFull,
            "The store is full: \(count) events were given up to make room so far. "
                + "Give it more room, or have track wait or refuse by ClientOptions.backPressure."
        )
    }
}

extension ProviderRoles {
    /// Replaces the vendor's batch policy with the application's, for every destination.
    fileprivate mutating func rebatch(_ batching: BatchPolicy) {
        events = events.map { RebatchedSink(sink: $0, batching: batching) }
        for index in furtherRoutes.indices {
            furtherRoutes[index].sink = RebatchedSink(sink: furtherRoutes[index].sink, batching: batching)
        }
    }
}

/// A sink that has the application's batch policy in place of the vendor's.
private struct RebatchedSink: EventSink {
    let sink: any EventSink
    let batching: BatchPolicy
    func check(_ event: TrackingEvent) throws(ExperimentationError) { try sink.check(event) }
    func deliver(_ batch: [Envelope]) async -> DeliveryReport { await sink.deliver(batch) }
}
