import Foundation
import Synchronization

/// What a client and its sessions share.
final class ClientCore: Sendable {
    let provider: any ExperimentationProvider
    let roles: ProviderRoles
    /// Whether decisions are computed here.
    let isComputed: Bool
    let options: ClientOptions
    let environment: Environment
    let status = StatusBoard()
    let kept: KeptState
    let outbox: Outbox
    let rulesets: RulesetKeeper?
    /// The rules at hand for evaluations without a session.
    let published: Lanes<PublishedRules>
    let decisionFlights = SingleFlight<DecisionKey, DecisionAnswer>()
    let cache: DecisionCache
    let exposures: RecentExposures
    /// Code that runs with every evaluation.
    let hooks: HookList
    let hookScope: HookScope
    private let killSwitch = Atomic<Bool>(false)

    /// What lies under every user's own context; read with every evaluation without a session.
    let ambient: Lanes<Ambient>

    /// What lies under every user's own context.
    final class Ambient: Sendable {
        let attributes: Attributes
        let overrides: [AssignmentOverride]
        let revision: UInt64

        init(attributes: Attributes, overrides: [AssignmentOverride] = [], revision: UInt64 = 0) {
            self.attributes = attributes
            self.overrides = overrides
            self.revision = revision
        }

        func with(attributes: Attributes? = nil, overrides: [AssignmentOverride]? = nil) -> Ambient {
            Ambient(
                attributes: attributes ?? self.attributes,
                overrides: overrides ?? self.overrides,
                revision: revision + 1
            )
        }
    }

    struct State {
        var sessions: [String: WeakSession] = [:]
        var isClosed = false
        /// What acts on a kill switch that came with a delivery.
        var switching: Task<Void, Never>?
    }
    let state: Mutex<State>

    struct WeakSession { weak var session: UserSession? }

    /// What makes two requests for decisions the same.
    struct DecisionKey: Hashable, Sendable {
        var identity: Identity
        var attributes: Attributes
        var overrides: UInt64
    }

    init(
        provider: any ExperimentationProvider,
        store: ClientStore,
        options: ClientOptions,
        environment: Environment
    ) {
        self.provider = provider
        self.options = options
        self.environment = environment
        var roles = provider.roles
        if let batching = options.batching, let events = roles.events {
            roles.events = RebatchedSink(sink: events, batching: batching)
        }
        self.roles = roles
        kept = KeptState(store: store.state, provider: provider, log: environment.log)
        if case .computed(let source) = roles.decisions {
            rulesets = RulesetKeeper(source: source, state: kept, environment: environment)
            isComputed = true
        } else {
            rulesets = nil
            isComputed = false
        }
        published = Lanes(PublishedRules(nil))
        cache = DecisionCache(limit: options.cachedUsers)
        exposures = RecentExposures(limit: 10_000)
        hooks = HookList(options.hooks)
        hookScope = HookScope(clientName: options.name, providerName: provider.name)
        ambient = Lanes(Ambient(attributes: options.attributes))
        state = Mutex(State())
        let news = NewsDesk()
        outbox = Outbox(store: store.outbox, kept: kept, sink: roles.events, environment: environment) {
            news.take($0)
        }
        news.open { [weak self] in self?.take($0) }
    }

    // MARK: The kill switch

    /// Whether the vendor has switched itself off.
    var isDisabled: Bool { killSwitch.load(ordering: .relaxed) }

    /// Notes what the vendor says of its kill switch, so that it holds in the next run as well.
    func setDisabled(_ isDisabled: Bool) async {
        guard killSwitch.exchange(isDisabled, ordering: .relaxed) != isDisabled else { return }
        await outbox.setPause(.disabled, isDisabled)
        await kept.write(isDisabled ? true : nil, .killSwitch)
        // Told last: whoever hears of it may end the process. Meanwhile it may have been thrown back.
        guard killSwitch.load(ordering: .relaxed) == isDisabled else { return }
        if isDisabled {
            status.announce(.disabled, .disabled)
        } else {
            status.announce(.ready, .ready)
        }
    }

    /// Waits until a kill switch that came with a delivery is written down.
    func waitForSwitching() async { await state.withLock { $0.switching }?.value }

    /// Takes over what an earlier run knew.
    func restore() async {
        if await kept.read(Bool.self, .killSwitch) == true {
            killSwitch.store(true, ordering: .relaxed)
            status.announce(.disabled, .disabled)
            await outbox.setPause(.disabled, true)
        }
        if let overrides = await kept.read([AssignmentOverride].self, .overrides) {
            ambient.update { $0.with(overrides: overrides) }
        }
        if let restored = await rulesets?.restore() { publish(restored) }
        // Before anything is sent.
        for userID in await kept.owedWithdrawals() { await outbox.takeOver(withdrawalOf: userID) }
        await outbox.resume()
    }

    // MARK: Rules

    /// Makes rules available to evaluations without a session.
    func publish(_ rules: RulesetKeeper.Kept) {
        let isNew = published.update { $0.kept === rules ? nil : PublishedRules(rules) }
        if isNew, !isDisabled, !rules.isRestored { status.announce(.ready, .ready) }
    }

    /// Fetches rules if need be, and acts on what the vendor says.
    func currentRules(force: Bool) async throws(ExperimentationError) -> RulesetKeeper.Kept? {
        guard let rulesets else { return nil }
        let before = await rulesets.atHand
        let outcome: RulesetKeeper.Outcome
        do throws(ExperimentationError) {
            outcome = try await rulesets.current(force: force)
        } catch {
            fetchFailed(error, hasDecisions: before != nil)
            throw error
        }
        switch outcome {
        case .disabled:
            await setDisabled(true)
            return nil
        case .current(let rules):
            await setDisabled(false)
            publish(rules)
            if let before, before.ruleset.catalogue !== rules.ruleset.catalogue, !rules.isRestored {
                status.announce(.configurationChanged, .ready)
            } else {
                status.announce(.ready, .ready)
            }
            return rules
        }
    }

    /// Announces that the vendor gave no good answer.
    func fetchFailed(_ error: ExperimentationError, hasDecisions: Bool) {
        environment.log.log(.warning, "refresh.failed", "No decisions from \(provider.name): \(error)")
        guard !isDisabled else { return }
        if hasDecisions {
            status.announce(.stale, .stale, error: error)
        } else {
            status.announce(.error, error.code == .providerFatal ? .fatal : .error, error: error)
        }
    }

    // MARK: Contexts

    /// Everything that decisions for a user depend on.
    func context(
        for user: User,
        earlierAssignments: [String: String] = [:],
        attributeDates: [String: Date] = [:],
        revision: UInt64 = 0
    ) -> EvaluationContext {
        var user = user
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

    /// Asks a vendor that decides by itself; concurrent requests for the same thing are one.
    func ask(
        _ source: any DecisionSource,
        for context: EvaluationContext
    ) async throws(ExperimentationError) -> DecisionAnswer {
        let key = DecisionKey(
            identity: context.user.identity,
            attributes: context.user.attributes,
            overrides: ambient.current.revision
        )
        return try await decisionFlights(key) { () async throws(ExperimentationError) -> DecisionAnswer in
            try await source.decisions(for: context)
        }
    }

    // MARK: Events

    /// Whether events of a user wait for consent.
    func holds(_ consent: Consent) -> Bool { consent == .unknown && roles.needsConsent }

    /// Acts on what a delivery brought back.
    private func take(_ news: Outbox.News) {
        if news.isDisabled {
            // One behind the other: whoever waits for the last waits for all.
            state.withLock { state in
                state.switching = Task { [before = state.switching] in
                    await before?.value
                    await self.setDisabled(true)
                }
            }
        }
        if let error = news.stopped {
            environment.log.log(.error, "delivery.stopped", "Nothing is delivered any more: \(error)")
            status.announce(.error, .error, error: error)
        }
        if news.hasResumed, status.status == .error { status.announce(.ready, .ready) }
        for (envelope, campaigns) in news.bySession {
            session(envelope.session)?.receive(campaigns, for: envelope)
        }
        guard roles.campaigns != nil else { return }
        for envelope in news.settled { session(envelope.session)?.forgetEpoch(of: envelope) }
    }

    /// A session that is still in use, by its id.
    func session(_ id: String) -> UserSession? { state.withLock { $0.sessions[id]?.session } }

    /// The sessions that are still in use.
    var sessions: [UserSession] { state.withLock { $0.sessions.values.compactMap(\.session) } }

    func register(_ session: UserSession) {
        state.withLock { state in
            state.sessions[session.id] = WeakSession(session: session)
            // Now and then, so that a server's ended sessions don't add up.
            if state.sessions.count & 0x3FF == 0 { state.sessions = state.sessions.filter { $1.session != nil } }
        }
    }

    func unregister(_ id: String) { _ = state.withLock { $0.sessions.removeValue(forKey: id) } }
}

/// Rules as evaluations without a session read them; `nil` before there are any.
final class PublishedRules: Sendable {
    let ruleset: (any Ruleset)?
    let catalogue: FlagCatalogue
    let isRestored: Bool
    let kept: RulesetKeeper.Kept?

    init(_ kept: RulesetKeeper.Kept?) {
        self.kept = kept
        ruleset = kept?.ruleset
        catalogue = kept?.catalogue ?? .empty
        isRestored = kept?.isRestored ?? false
    }
}

/// A sink with the application's batch policy in place of the vendor's.
private struct RebatchedSink: EventSink {
    let sink: any EventSink
    let batching: BatchPolicy
    func check(_ event: TrackingEvent) throws(ExperimentationError) { try sink.check(event) }
    func deliver(_ batch: [Envelope]) async -> DeliveryReport { await sink.deliver(batch) }
}

extension Outbox.News {
    /// The campaigns by the event that they answer, in order.
    fileprivate var bySession: [(Envelope, [Campaign])] {
        var order: [String] = []
        var groups: [String: (Envelope, [Campaign])] = [:]
        for (envelope, campaign) in campaigns {
            if groups[envelope.id] == nil { order.append(envelope.id) }
            groups[envelope.id, default: (envelope, [])].1.append(campaign)
        }
        return order.compactMap { groups[$0] }
    }
}
