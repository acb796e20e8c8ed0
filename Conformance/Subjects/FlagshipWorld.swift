import ConformanceKit
import Experimentation
import Foundation

/// Translates a neutral world to a bucketing file, and what the vendor accepted into neutral terms.
enum FlagshipWorld {
    private static let everybody: FlagValue = [
        "targetingGroups": [["targetings": [["operator": "EQUALS", "key": "fs_all_users", "value": ""]]]]
    ]

    /// The file, and the gaps: the parts of the world that it can't represent.
    static func file(of world: World) -> (text: String, gaps: [WorldGap]) {
        var gaps: [WorldGap] = []
        if !world.holdouts.isEmpty { gaps.append(WorldGap("holdouts", "Flagship has no holdouts")) }
        if !world.campaigns.isEmpty {
            gaps.append(WorldGap("campaigns", "Flagship doesn't answer events with campaigns"))
        }
        for flag in world.flags
        where flag.rules.contains(where: { $0.when.contains { $0.comparison.isOfDatesOrVersions } }) {
            gaps.append(WorldGap("flags/\(flag.key)", "Flagship compares neither dates nor versions"))
        }
        for experiment in world.experiments where experiment.layer != nil {
            gaps.append(WorldGap("experiments/\(experiment.id)/layer", "Flagship has no layers"))
        }
        let flags = world.flags.filter { !$0.isDisabled }
        // Later campaigns override earlier ones: the most general come first, the most specific last.
        let plain = flags.map(plainCampaign)
        let tests = world.experiments.filter(\.isRunning).map { campaign(of: $0, flags: flags) }
        let rules = flags.filter { !$0.rules.isEmpty }.map(rulesCampaign)
        let file: FlagValue = [
            "accountSettings": ["enabledXPC": true, "enabled1V1T": false],
            "campaigns": .array(plain + tests + rules),
        ]
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = (try? encoder.encode(file)).map { String(decoding: $0, as: UTF8.self) }
        return (text ?? "", gaps)
    }

    private static func plainCampaign(_ flag: World.Flag) -> FlagValue {
        let id = "flag-\(flag.key)"
        // A malformed record: its flags aren't an object.
        let value: FlagValue = flag.isMalformed ? "broken" : [flag.key: flag.value]
        return campaign(
            id,
            name: flag.key,
            type: "flag",
            groups: [group(id, everybody, [variation("\(id)-value", allocation: 100, value)])]
        )
    }

    private static func rulesCampaign(_ flag: World.Flag) -> FlagValue {
        let id = "rules-\(flag.key)"
        return campaign(
            id,
            name: flag.key,
            type: "perso",
            groups: flag.rules.enumerated().map { index, rule in
                let group = "\(id)-\(index + 1)"
                return self.group(
                    group,
                    targeting(rule.when),
                    [variation("\(group)-value", allocation: 100, [flag.key: rule.value])]
                )
            }
        )
    }

    private static func campaign(of experiment: World.Experiment, flags: [World.Flag]) -> FlagValue {
        func variations(_ share: (World.Experiment.Variation) -> Int) -> [FlagValue] {
            experiment.variations.map { variation in
                var values: [String: FlagValue] = [:]
                for flag in flags where flag.experiment == experiment.id {
                    values[flag.key] = flag.variations[variation.id]
                }
                return self.variation(
                    variation.id,
                    name: variation.name,
                    allocation: share(variation),
                    isReference: variation.isControl,
                    .object(values)
                )
            }
        }
        let forced = Dictionary(grouping: experiment.forced.keys.sorted()) { experiment.forced[$0] ?? "" }
        let lists = forced.sorted { $0.key < $1.key }.map { id, users in
            group(
                "\(experiment.id)-forced-\(id)",
                targeting([World.Condition("fs_users", .equals, .array(users.map { .string($0) }))]),
                variations { $0.id == id ? 100 : 0 }
            )
        }
        let all = group(
            experiment.id,
            experiment.targeting.isEmpty ? everybody : targeting(experiment.targeting),
            variations(\.weight)
        )
        return campaign(experiment.id, name: experiment.name, type: "ab", groups: lists + [all])
    }

    private static func targeting(_ conditions: [World.Condition]) -> FlagValue {
        let rules = conditions.map { condition -> FlagValue in
            let comparison =
                switch condition.comparison {
                case .equals: "EQUALS"
                case .notEquals: "NOT_EQUALS"
                case .lessThan: "LOWER_THAN"
                case .greaterThan: "GREATER_THAN"
                case .contains: "CONTAINS"
                // A comparison without an operator never matches; the gaps say so.
                case .before, .after, .onDay, .versionBefore, .versionAfter, .unknownOperator: "RESEMBLES"
                }
            return ["operator": .string(comparison), "key": .string(condition.attribute), "value": condition.value]
        }
        return ["targetingGroups": [["targetings": .array(rules)]]]
    }

    private static func campaign(_ id: String, name: String, type: String, groups: [FlagValue]) -> FlagValue {
        [
            "id": .string(id), "name": .string(name), "type": .string(type), "slug": nil,
            "bucketRanges": [["r": [0, 100]]], "variationGroups": .array(groups),
        ]
    }

    private static func group(_ id: String, _ targeting: FlagValue, _ variations: [FlagValue]) -> FlagValue {
        ["id": .string(id), "name": .string(id), "targeting": targeting, "variations": .array(variations)]
    }

    private static func variation(
        _ id: String,
        name: String? = nil,
        allocation: Int,
        isReference: Bool = false,
        _ value: FlagValue
    ) -> FlagValue {
        [
            "id": .string(id), "name": .string(name ?? id), "allocation": .int(allocation),
            "reference": .bool(isReference), "modifications": ["type": "FLAG", "value": value],
        ]
    }
}
