import Experimentation
import ExperimentationComposition
import ExperimentationTesting

/// The vendors of the composition tests, by their roles.
enum Vendors {
    /// A vendor that only decides, by rules.
    static func deciding(
        _ name: String,
        _ flags: [String: FlagValue] = [:],
        experiments: [InMemoryExperiment] = [],
        freshness: Freshness = Freshness()
    ) -> Playing {
        Playing(
            InMemoryProvider(
                name: name,
                flags: flags.sorted { $0.key < $1.key }.map { InMemoryFlag($0.key, $0.value) },
                experiments: experiments,
                freshness: freshness,
                capabilities: [.flags, .targeting, .localEvaluation, .experiments, .overrides]
            )
        ) { $0.events = nil }
    }

    /// A vendor that only accepts events, except for some kinds.
    static func taking(_ name: String, scope: String = "", allBut refused: Set<String> = [], needsConsent: Bool = false)
        -> Playing
    {
        Playing(
            InMemoryProvider(name: name, scope: scope, needsConsent: needsConsent, capabilities: [.tracking])
        ) { roles in
            roles.decisions = nil
            roles.campaigns = nil
            roles.events = roles.events.map { Refusing(sink: $0, refused: refused) }
        }
    }

    /// An experiment in which all users get the same variation.
    static func experiment(_ id: String, flag: String? = nil, value: FlagValue = true) -> InMemoryExperiment {
        let flags: [String: FlagValue] = flag.map { [$0: value] } ?? [:]
        return InMemoryExperiment(
            Experiment(id: id),
            arms: [.init(Variation(id: "\(id)-b"), weight: 100, flags: flags)]
        )
    }
}

/// An in-memory provider with some of its roles.
struct Playing: ExperimentationProvider {
    let inner: InMemoryProvider
    private let change: @Sendable (inout ProviderRoles) -> Void

    init(_ inner: InMemoryProvider, _ change: @escaping @Sendable (inout ProviderRoles) -> Void) {
        self.inner = inner
        self.change = change
    }

    var name: String { inner.name }
    var scope: String { inner.scope }
    var capabilities: Set<Capability> { inner.capabilities }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await inner.start(in: context)
        change(&roles)
        return roles
    }

    /// Returns a copy with further changes to its roles.
    func changing(_ more: @escaping @Sendable (inout ProviderRoles) -> Void) -> Playing {
        Playing(inner) { roles in
            change(&roles)
            more(&roles)
        }
    }

    /// The types of the delivered events.
    var types: [String] { inner.delivered.map(\.type) }
}

/// A sink that doesn't support some types of events.
struct Refusing: EventSink {
    let sink: any EventSink
    let refused: Set<String>
    var batching: BatchPolicy { sink.batching }
    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        if refused.contains(event.type) { throw ExperimentationError(.unsupported, "no word for \(event.type)") }
        try sink.check(event)
    }
    func deliver(_ batch: [Envelope]) async -> DeliveryReport { await sink.deliver(batch) }
}

/// A vendor that is asked for each user, implemented by rules.
struct Asking: DecisionSource {
    let rules: any RulesetSource
    let freshness = Freshness()
    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        switch try await rules.ruleset(ifNot: nil) {
        case .replaced(let ruleset, _, _): .decided(ruleset.decisions(for: context))
        case .disabled: .disabled
        case .unchanged: .decided(.none)
        }
    }
}

extension Playing {
    /// The vendor in the form that is asked for each user.
    var asked: Playing {
        changing { roles in
            if case .computed(let source)? = roles.decisions { roles.decisions = .asked(Asking(rules: source)) }
        }
    }
}

extension ComposedProvider {
    /// Composes vendors under their own names.
    init(
        of vendors: [any ExperimentationProvider],
        decisions: DecisionTable = DecisionTable(),
        events: EventTable = EventTable(),
        exposures: ExposureEvent = ExposureEvent()
    ) throws(ExperimentationError) {
        try self.init(vendors.map { Vendor($0) }, decisions: decisions, events: events, exposures: exposures)
    }
}
