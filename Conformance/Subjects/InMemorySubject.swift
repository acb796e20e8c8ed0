import ConformanceKit
import Experimentation
import ExperimentationTesting

/// The in-memory provider as a subject: it shows that the suite can be passed before a vendor is blamed.
public struct InMemorySubject: ConformanceSubject {
    /// Creates the subject.
    public init() {}

    /// The provider's name.
    public var name: String { "in-memory" }

    /// Every capability.
    public var capabilities: Set<Capability> { Set(Capability.all) }

    /// Every field: nothing is lost without a wire.
    public var wireFields: Set<Received.Field> { Set(Received.Field.allCases) }

    /// Sets up an in-memory provider with the world.
    public func open(_ world: World) async throws -> any SubjectStage { InMemoryStage(world) }
}

extension World {
    /// The flags for an `InMemoryProvider`.
    public var inMemoryFlags: [InMemoryFlag] { flags.filter { !$0.isMalformed }.map { $0.inMemory } }

    /// The experiments and holdouts for an `InMemoryProvider`.
    public var inMemoryExperiments: [InMemoryExperiment] {
        holdouts.map { $0.inMemory } + experiments.filter(\.isRunning).map { inMemory($0) }
    }

    private func inMemory(_ experiment: World.Experiment) -> InMemoryExperiment {
        let arms = experiment.variations.map { variation in
            var values: [String: FlagValue] = [:]
            for flag in flags where flag.experiment == experiment.id {
                values[flag.key] = flag.variations[variation.id]
            }
            return InMemoryExperiment.Arm(
                Variation(id: variation.id, name: variation.name, isControl: variation.isControl),
                weight: Double(variation.weight),
                flags: values
            )
        }
        var copy = InMemoryExperiment(
            Experimentation.Experiment(id: experiment.id, name: experiment.name, kind: "ab"),
            arms: arms,
            forced: experiment.forced
        )
        copy.holdouts = holdouts.filter { $0.experiments.isEmpty || $0.experiments.contains(experiment.id) }.map(\.id)
        let targeting = experiment.targeting
        let layer = experiment.layer
        if !targeting.isEmpty || layer != nil {
            copy.audience = { context in
                targeting.allSatisfy { $0.matches(context.user.attributes) } && layer?.holds(context.user.id) != false
            }
        }
        return copy
    }

    /// The campaigns that answer an event.
    public func campaigns(answering envelope: Envelope) -> [Experimentation.Campaign] {
        let name = Received(envelope).name
        return campaigns.filter { campaign in
            campaign.trigger == envelope.event.type && (campaign.triggerName == nil || campaign.triggerName == name)
        }
        .map { campaign in
            Experimentation.Campaign(
                id: campaign.id,
                name: campaign.name,
                target: campaign.target,
                experience: Variation(id: campaign.experience),
                content: campaign.content,
                promotedItems: campaign.promotedItems.isEmpty ? [:] : ["product": campaign.promotedItems],
                isControlGroup: campaign.controlGroup.contains(envelope.identity.id)
            )
        }
    }
}

extension World.Flag {
    fileprivate var inMemory: InMemoryFlag {
        var variants: [String: FlagValue] = ["default": value]
        for (index, rule) in rules.enumerated() { variants["rule-\(index + 1)"] = rule.value }
        var flag = InMemoryFlag(key, variants: variants, defaultVariant: "default", isDisabled: isDisabled)
        if let experiment { flag.metadata = ["experiment": .string(experiment)] }
        let rules = rules
        if !rules.isEmpty {
            flag.target = { context in
                let match = rules.firstIndex { rule in rule.when.allSatisfy { $0.matches(context.user.attributes) } }
                return match.map { "rule-\($0 + 1)" }
            }
        }
        return flag
    }
}

extension World.Holdout {
    fileprivate var inMemory: InMemoryExperiment {
        InMemoryExperiment(
            Experimentation.Experiment(id: id, name: name, kind: "holdout"),
            arms: [InMemoryExperiment.Arm(Variation(id: id, name: name, isControl: true), weight: Double(weight))],
            isHoldout: true
        )
    }
}
