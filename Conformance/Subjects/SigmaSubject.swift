import AdapterKit
import ConformanceKit
import ConformanceStages
import Experimentation
import MockVendors
import SigmaAdapter

/// Sigma's adapter in front of its mock vendor.
public struct SigmaSubject: ConformanceSubject {
    private let transport: (any HTTPTransport)?

    /// Creates the subject.
    ///
    /// - Parameter transport: Sends requests; the platform's own if `nil`.
    public init(transport: (any HTTPTransport)? = nil) { self.transport = transport }

    /// The provider's name.
    public var name: String { SigmaMock.name }

    /// The declared capabilities.
    public var capabilities: Set<Capability> {
        SigmaProvider(configuration: SigmaConfiguration(projectToken: "any")).capabilities
    }

    /// Why the other capabilities are missing.
    public var reasons: [Capability: String] {
        let noEvents = "Sigma takes no events: its two routes return the configuration and the user's location"
        let eventful: [Capability] = [.exposures, .tracking, .commerce, .batching, .eventIDs, .consentSignal]
        return Dictionary(uniqueKeysWithValues: eventful.map { ($0, noEvents) }).merging(
            [
                .stickyAssignments: "Sigma keeps no assignments: the same id and salt give the same group",
                .identityLinking: "Sigma never learns who a user is: an experiment splits by one id or the other",
                .campaigns: "Sigma has no campaigns",
                .killSwitch: "Sigma has no kill switch",
            ]
        ) { $1 }
    }

    /// A caveat, because the vendor's bucketing formula isn't published.
    public var variationCaveat: String? { "parity of the buckets with production is unproven" }

    /// Empty: the wire carries no events.
    public var wireFields: Set<Received.Field> { [] }

    /// Starts a mock vendor with the world as its configuration.
    public func open(_ world: World) async throws -> any SubjectStage {
        try await MockStage(SigmaMock(), wire: wire, world: world)
    }

    private var wire: MockWire<SigmaMock> {
        let transport = transport
        return MockWire(
            operations: [.decisions: ["config", "geo"]],
            contentType: "application/json; charset=utf-8",
            secrets: [SigmaMock.token],
            load: { sigma, world in
                sigma.serve(String(decoding: try JSON.encode(world.sigmaConfiguration), as: UTF8.self))
                return world.sigmaGaps
            },
            makeProvider: { server in
                let configuration = SigmaConfiguration(
                    projectToken: Secret(SigmaMock.token),
                    endpoint: try Endpoint(server.endpoints["api"] ?? server.url),
                    fetchTimeout: server.patience
                )
                return SigmaProvider(configuration: configuration, transport: transport)
            },
            received: { _, _ in [] },
            takeReceived: { _, _ in [] }
        )
    }
}

// MARK: - A world as a configuration

extension World {
    /// This world as a `config.json`.
    public var sigmaConfiguration: FlagValue {
        [
            "use_geo": false,
            "feature_flags": .array(flags.filter { !$0.isDisabled }.map(\.sigma)),
            "experiments": .array(
                holdouts.map(\.sigma) + experiments.filter(\.isRunning).map { sigma($0) }
            ),
        ]
    }

    /// The parts of this world that a `config.json` can't represent.
    var sigmaGaps: [WorldGap] {
        var gaps: [WorldGap] = []
        if !campaigns.isEmpty { gaps.append(WorldGap("campaigns", "Sigma has no campaigns")) }
        if lifetime != nil { gaps.append(WorldGap("lifetime", "the lifetime is a setting of the application")) }
        for flag in flags where flag.rules.contains(where: { $0.when.contains(where: \.comparesTexts) }) {
            gaps.append(WorldGap("flags/\(flag.key)", "Sigma orders numbers, not texts"))
        }
        for flag in flags where flag.rules.contains(where: { $0.when.contains(where: \.comparesOtherVersions) }) {
            let reason = "Sigma compares the versions of the application and of the system, and no others"
            gaps.append(WorldGap("flags/\(flag.key)", reason))
        }
        for experiment in experiments where experiment.targeting.contains(where: \.comparesTexts) {
            gaps.append(WorldGap("experiments/\(experiment.id)/targeting", "Sigma orders numbers, not texts"))
        }
        return gaps
    }

    private func sigma(_ experiment: World.Experiment) -> FlagValue {
        let steered = flags.filter { $0.experiment == experiment.id && !$0.isDisabled }
        var members: [String: FlagValue] = [
            "name": .string(experiment.id), "type": 1, "salt": .string("salt of \(experiment.id)"), "allocation": 100,
            "platforms": ["all"], "split_by": "userId",
            "groups": .array(
                experiment.variations.map { variation in
                    [
                        "name": .string(variation.id), "weight": .int(variation.weight),
                        "label": .string(variation.isControl ? "control" : variation.name),
                        "forced_user_list": .array(
                            experiment.forced.filter { $0.value == variation.id }.keys.sorted().map { .string($0) }
                        ),
                    ]
                }
            ),
            "feature_flags": .array(steered.map { $0.sigma(in: experiment) }),
            "holdouts": .array(
                holdouts.filter { $0.experiments.isEmpty || $0.experiments.contains(experiment.id) }
                    .map { .string($0.id) }
            ),
        ]
        if !experiment.targeting.isEmpty { members["targets"] = .object(experiment.targeting.sigma) }
        if let layer = experiment.layer {
            members["layer_id"] = .string(layer.id)
            members["layer_bounds"] = [["lower_bound": .int(layer.from), "upper_bound": .int(layer.to)]]
        }
        return .object(members)
    }
}

extension World.Holdout {
    fileprivate var sigma: FlagValue {
        [
            "name": .string(id), "type": 5, "salt": .string("salt of \(id)"), "allocation": .int(weight),
            "platforms": ["all"], "split_by": "userId",
            "groups": [["name": .string(id), "label": .string(name), "weight": 100]],
        ]
    }
}

extension World.Flag {
    /// The flag outside experiments.
    fileprivate var sigma: FlagValue {
        [
            "name": .string(key), "type": .string(word), "platforms": ["all"],
            "rules": .array(rulesBeforeDefault + [Self.rule(text(value), isDefault: true)]),
        ]
    }

    /// The flag within its experiment: its rules precede the group's value, as in the world.
    fileprivate func sigma(in experiment: World.Experiment) -> FlagValue {
        let groups = experiment.variations.compactMap { variation -> FlagValue? in
            guard let value = variations[variation.id] else { return nil }
            return [
                "group": .string(variation.id),
                "rules": .array(rulesBeforeDefault + [Self.rule(text(value), isDefault: true)]),
            ]
        }
        return ["name": .string(key), "type": .string(word), "platforms": ["all"], "groups": .array(groups)]
    }

    private var rulesBeforeDefault: [FlagValue] {
        rules.map { rule in
            .object(
                ["is_default": false, "value": .string(text(rule.value))].merging(rule.when.sigma) { $1 }
            )
        }
    }

    private static func rule(_ text: String, isDefault: Bool) -> FlagValue {
        ["is_default": .bool(isDefault), "value": .string(text), "conditional_statement": "-", "conditions": []]
    }

    private var word: String {
        // A text that is no Boolean, as the vendor would send for a malformed flag.
        if isMalformed { return "bool" }
        return switch type {
        case .bool: "bool"
        case .int: "integer"
        case .double: "number"
        case .string: "string"
        case .object, .array: "json"
        }
    }

    private func text(_ value: FlagValue) -> String {
        switch value {
        case .string(let text): text
        case .array, .object: (try? JSON.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        default: value.description
        }
    }
}

extension World.Condition {
    fileprivate var comparesTexts: Bool {
        [.lessThan, .greaterThan].contains(comparison) && value.doubleValue == nil
    }

    fileprivate var comparesOtherVersions: Bool { comparison.isOfVersions && !Self.versions.contains(attribute) }

    /// The vendor's properties that hold versions.
    private static let versions: Set<String> = ["appVersion", "os.version"]

    fileprivate var sigma: FlagValue {
        let name = comparison.isOfVersions && Self.versions.contains(attribute) ? attribute : "custom." + attribute
        let texts: [FlagValue] = (value.arrayValue ?? [value]).map { .string($0.stringValue ?? $0.description) }
        let sign =
            switch comparison {
            case .equals: "any of"
            case .notEquals: "none of"
            case .lessThan: "less"
            case .greaterThan: "greater"
            case .contains: "contains"
            case .before: "before time"
            case .after: "after time"
            case .onDay: "on date"
            case .versionBefore: "less"
            case .versionAfter: "greater"
            case .unknownOperator: "resembles"
            }
        return ["name": .string(name), "condition_sign": .string(sign), "value": .array(texts)]
    }
}

extension [World.Condition] {
    fileprivate var sigma: [String: FlagValue] {
        ["conditional_statement": "AND", "conditions": .array(map(\.sigma))]
    }
}
