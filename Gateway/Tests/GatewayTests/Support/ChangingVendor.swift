import Experimentation
import Foundation
import Synchronization

/// A vendor whose rules, kill switch and reachability a test changes: flags with a value, in a campaign of some seconds, by an
/// attribute, and in an experiment whose assignments are kept.
final class ChangingVendor: ExperimentationProvider, RulesetSource {
    /// What the vendor has.
    struct World: Sendable {
        var value = 0
        /// When the campaign runs.
        var campaign = DateInterval()
        /// How many of a hundred users are in the first variation.
        var allocation = 50
        var isDisabled = false
        var fails = false
        fileprivate var version = 0
    }

    let name: String
    let scope = ""
    let capabilities: Set<Capability> = [.flags, .experiments, .localEvaluation, .stickyAssignments, .overrides]
    let freshness: Freshness
    /// Whether its rules say when time changes a decision.
    private let saysWhen: Bool
    private let state: Mutex<World>

    /// Creates a vendor.
    ///
    /// - Parameters:
    ///   - world: What it has.
    ///   - name: Its name.
    ///   - lifetime: How long its rules are valid.
    ///   - saysWhen: Whether its rules say when time changes a decision.
    ///   - isRenewed: Whether rules are fetched at the end of their lifetime without a request, in addition to a test's requests.
    init(
        _ world: World = World(),
        named name: String = "changing",
        validFor lifetime: Duration = .seconds(30),
        saysWhen: Bool = true,
        isRenewed: Bool = true
    ) {
        self.name = name
        // Zero: fetched at the start, and then only on request.
        freshness = Freshness(lifetime: lifetime, polling: isRenewed ? nil : .zero)
        self.saysWhen = saysWhen
        state = Mutex(world)
    }

    /// The number of its changes, which names its rules.
    var revision: Int64 { state.withLock { Int64($0.version) } }

    func change(_ change: (inout World) -> Void) {
        state.withLock { world in
            change(&world)
            world.version += 1
        }
    }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = ProviderRoles(decisions: .computed(self))
        roles.assignments = AssignmentPolicy(isSticky: true, allowsOverrides: true)
        return roles
    }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        let world = state.withLock { $0 }
        if world.fails { throw ExperimentationError(.transport, "gone") }
        if world.isDisabled { return .disabled }
        if validator == "\(world.version)" { return .unchanged }
        return .replaced(ChangingRules(world, saysWhen: saysWhen), validator: "\(world.version)", raw: [])
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset {
        throw ExperimentationError(.parseError, "Nothing is restored.")
    }
}

private struct ChangingRules: Ruleset {
    static let experiment = Experiment(id: "button")

    let world: ChangingVendor.World
    let saysWhen: Bool
    let catalogue: FlagCatalogue

    init(_ world: ChangingVendor.World, saysWhen: Bool) {
        (self.world, self.saysWhen) = (world, saysWhen)
        catalogue = FlagCatalogue(
            flags: [
                .init("value", outcomes: [Resolution(.int(world.value), variant: "v", reason: .static)]),
                .init(
                    "campaign",
                    outcomes: [FlagValue.bool(false), .bool(true)].map {
                        Resolution($0, variant: "c", reason: .targetingMatch)
                    }
                ),
                .init(
                    "region",
                    outcomes: [FlagValue.string("here"), .string("there")].map {
                        Resolution($0, variant: "r", reason: .split)
                    }
                ),
                .init(
                    "button",
                    outcomes: [0, 1].map { Resolution(.int($0), variant: "\($0)", reason: .split, assignment: $0) }
                ),
            ],
            assignments: ["a", "b"].map { Assignment(experiment: Self.experiment, variation: Variation(id: $0)) }
        )
    }

    func decisions(for context: EvaluationContext) -> Decisions {
        let isOn = world.campaign.start <= context.date && context.date < world.campaign.end
        return Decisions(
            catalogue: catalogue,
            outcomes: [0, isOn ? 1 : 0, context["region"] == "eu" ? 0 : 1, variation(for: context)]
        )
    }

    private func variation(for context: EvaluationContext) -> Int {
        if case .include(_, let forced?)? = context.overrides.last { return forced == "a" ? 0 : 1 }
        switch context.earlierAssignments[Self.experiment.id] {
        case "a"?: return 0
        case "b"?: return 1
        default: break
        }
        let place = context.user.id.utf8.reduce(7) { ($0 &* 31 &+ Int($1)) % 100 }
        return place < world.allocation ? 0 : 1
    }

    func nextChange(after date: Date) -> Date {
        guard saysWhen else { return date }
        return [world.campaign.start, world.campaign.end].filter { $0 > date }.min() ?? .distantFuture
    }
}
