import Experimentation
import Synchronization

/// One of the two vendors of a move, started.
final class Party: Sendable {
    /// A vendor's answer, with the configuration behind it.
    struct Answer: Sendable {
        var decisions: Decisions
        var version: String?
        var age: Duration?
        var latency: Duration
    }

    let side: MigrationSide
    let name: String
    let destination: Destination
    let roles: ProviderRoles
    let rules: PartyRules?
    private let time: any TimeSource
    private let state: any StateStore
    private let isOffNow = Atomic<Bool>(false)
    private let keys = Mutex<[String]>([])
    /// Marks assignments with this vendor's side.
    let marked: MarkedCatalogues

    init(_ provider: any ExperimentationProvider, _ side: MigrationSide, in context: ProviderContext)
        async
        throws(ExperimentationError)
    {
        let context = context.context(of: provider)
        state = context.state
        let roles = try await provider.start(in: context)
        self.side = side
        self.roles = roles
        name = provider.name
        destination = provider.destination
        time = context.environment.time
        marked = MarkedCatalogues(side)
        if case .computed(let source) = roles.decisions {
            rules = PartyRules(source, in: context)
        } else {
            rules = nil
        }
        isOffNow.store((try? await state.value(for: Self.switchKey)) ?? nil != nil, ordering: .relaxed)
    }

    private static let switchKey = "migration/off"

    /// Whether the vendor's kill switch is on, according to this run or an earlier one.
    var isOff: Bool { isOffNow.load(ordering: .relaxed) }

    /// Records the state of the vendor's kill switch, also for the next run.
    func setOff(_ isOff: Bool) async {
        guard isOffNow.exchange(isOff, ordering: .relaxed) != isOff else { return }
        try? await state.setValue(isOff ? [1] : nil, for: Self.switchKey)
    }

    /// The flags of the vendor's last decisions.
    var lastKeys: [String] { keys.withLock { $0 } }

    /// How the vendor can be told of users' places; a vendor that is asked for each user can't honor earlier
    /// assignments.
    var policy: AssignmentPolicy {
        var policy = roles.assignments
        policy.isSticky = policy.isSticky && rules != nil
        return policy
    }

    /// Whether the vendor can be told of users' places: by its stickiness if it decides on this device, or by
    /// overrides.
    var canBeTold: Bool { policy.isSticky || policy.allowsOverrides }

    /// The validity of the vendor's answers.
    var freshness: Freshness {
        switch roles.decisions {
        case .asked(let source): source.freshness
        case .computed(let source): source.freshness
        case nil: Freshness()
        }
    }

    /// Returns the experiments of the rules at hand, fetching them if there are none; empty for a vendor that is asked
    /// for each user or is disabled.
    ///
    /// - Throws: Why there are no rules.
    func experiments() async throws(ExperimentationError) -> [VendorExperiment] {
        guard let rules else { return [] }
        if let ruleset = await rules.atHand() { return VendorExperiment.all(in: ruleset.catalogue) }
        guard let known = try await rules.current(for: "", inSession: false, isForced: true) else { return [] }
        return VendorExperiment.all(in: known.ruleset.catalogue)
    }

    /// Asks the vendor for decisions.
    ///
    /// - Parameters:
    ///   - context: The user, with the places to tell the vendor.
    ///   - isForced: Whether rules are fetched even if they are fresh.
    ///   - isShadow: Whether the answer is only for a comparison.
    /// - Returns: The answer; `nil` if the vendor is disabled.
    /// - Throws: Why there is no answer.
    func answer(
        for context: EvaluationContext,
        isForced: Bool = false,
        isShadow: Bool = false
    ) async throws(ExperimentationError) -> Answer? {
        let start = time.instant
        let found = try await ask(context, isForced, isShadow)
        await setOff(found == nil)
        if let found { keys.withLock { $0 = found.0.catalogue.keys } }
        return found.map {
            Answer(decisions: $0.0, version: $0.1, age: $0.2, latency: start.duration(to: time.instant))
        }
    }

    private func ask(
        _ context: EvaluationContext,
        _ isForced: Bool,
        _ isShadow: Bool
    ) async throws(ExperimentationError) -> (Decisions, String?, Duration?)? {
        switch roles.decisions {
        case .asked(let source):
            guard case .decided(let decisions) = try await source.decisions(for: context) else { return nil }
            return (decisions, nil, nil)
        case .computed:
            let rules = try await rules?.current(
                for: context.user.id,
                inSession: context.isOfSession,
                isForced: isForced,
                isShadow: isShadow
            )
            guard let known = rules else { return nil }
            return (known.ruleset.decisions(for: context), known.version, known.age)
        case nil: throw ExperimentationError(.unsupported, "\(name) has no flags or experiments.")
        }
    }
}
