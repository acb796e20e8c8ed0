import Experimentation
import Synchronization

/// Wraps a tenant's provider to expose facts and notices that the client doesn't.
final class ObservedProvider: ExperimentationProvider {
    /// What is known about a vendor's roles.
    struct Facts: Sendable {
        /// Whether the vendor promises to keep assignments.
        var isSticky = false
        /// Whether nothing may be kept about a user who hasn't consented.
        var needsConsent = false
        /// Whether the vendor publishes rules that are evaluated here.
        var isComputed = false
        /// Whether rules are fetched at an interval, so that no request waits for newer ones.
        var isPolling = false
        /// Whether this interval is the rules' lifetime, which may be long.
        var isRenewed = false
    }

    private let provider: any ExperimentationProvider
    private let noted = Mutex(Facts())
    private let listeners = Mutex(Listeners())

    private struct Listeners: Sendable {
        var forget: @Sendable (String) async throws(ExperimentationError) -> Void = { _ in }
        var hear: @Sendable () -> Void = {}
        var see: @Sendable ([String]) -> Void = { _ in }
    }

    var name: String { provider.name }
    var scope: String { provider.scope }
    var capabilities: Set<Capability> { provider.capabilities }
    var destination: Destination { provider.destination }

    init(_ provider: any ExperimentationProvider) { self.provider = provider }

    /// What is known about the vendor's roles, once it has been started.
    var facts: Facts { noted.withLock { $0 } }

    /// Sets what deletes a user's other data when the user denies consent.
    func onForget(_ forget: @escaping @Sendable (String) async throws(ExperimentationError) -> Void) {
        listeners.withLock { $0.forget = forget }
    }

    /// Sets what to run when a vendor that is asked for each user announces a change.
    ///
    /// For computed rules, the client announces changes itself.
    func onChange(_ hear: @escaping @Sendable () -> Void) { listeners.withLock { $0.hear = hear } }

    /// Sets what receives the keys in the answers of a vendor that is asked for each user; nothing else is known of its
    /// flags.
    func onAnswer(_ see: @escaping @Sendable ([String]) -> Void) { listeners.withLock { $0.see = see } }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await provider.start(in: context)
        var facts = Facts(isSticky: roles.assignments.isSticky, needsConsent: roles.needsConsent)
        if case .computed(let source) = roles.decisions {
            let renewed = RenewedRules(source: source)
            facts.isComputed = true
            facts.isPolling = renewed.freshness.polling.map { $0 > .zero } ?? false
            facts.isRenewed = facts.isPolling && source.freshness.polling == nil
            roles.decisions = .computed(renewed)
        }
        noted.withLock { $0 = facts }
        if case .asked(let source) = roles.decisions {
            roles.decisions = .asked(
                SeenAnswers(source: source) { [weak self] in self?.listeners.withLock { $0 }.see($0) }
            )
            roles.changes = roles.changes.map { changes in
                HeardChanges(changes: changes) { [weak self] in self?.listeners.withLock { $0 }.hear() }
            }
        }
        let forget = roles.forget
        roles.forget = { [weak self] userID throws(ExperimentationError) in
            try await forget(userID)
            try await self?.listeners.withLock { $0 }.forget(userID)
        }
        return roles
    }
}

/// Fetches rules that have a lifetime again at the end of it, whether or not a client asks for a flag.
///
/// Behind a load balancer, an instance without rules gets no requests yet, and listeners wait for changes rather than
/// ask.
private struct RenewedRules: RulesetSource {
    let source: any RulesetSource

    var freshness: Freshness {
        var freshness = source.freshness
        guard freshness.polling == nil, let lifetime = freshness.lifetime, lifetime > .zero else { return freshness }
        freshness.polling = lifetime
        return freshness
    }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        try await source.ruleset(ifNot: validator)
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset {
        try source.ruleset(restoring: raw)
    }
}

/// Reports the keys of a vendor's answers.
private struct SeenAnswers: DecisionSource {
    let source: any DecisionSource
    let see: @Sendable ([String]) -> Void

    var freshness: Freshness { source.freshness }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let answer = try await source.decisions(for: context)
        if case .decided(let decisions) = answer { see(decisions.catalogue.keys) }
        return answer
    }
}

/// Forwards a vendor's change notices, and reports each change to a second listener once the first has acted on it.
private struct HeardChanges: ChangeSource {
    let changes: any ChangeSource
    let hear: @Sendable () -> Void

    func notices() -> AsyncStream<ChangeNotice> {
        let notices = changes.notices()
        let isUntold = Mutex(false)
        return AsyncStream {
            // The client asks for the next notice once it has acted on this one. A listener that is notified earlier
            // could get the answer from before the change, and wouldn't be notified again.
            let isDue = isUntold.withLock { isUntold in
                defer { isUntold = false }
                return isUntold
            }
            if isDue { hear() }
            var iterator = notices.makeAsyncIterator()
            let notice = await iterator.next()
            if notice == .changed { isUntold.withLock { $0 = true } }
            return notice
        }
    }

    func setApplicationState(_ applicationState: ApplicationState) { changes.setApplicationState(applicationState) }
}
