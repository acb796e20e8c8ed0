import AdapterKit
import ComparisonKit
import Experimentation
import FlagshipAdapter

extension RuleFile {
    /// A bucketing file.
    static let flagship = RuleFile(
        vendor: "flagship",
        marks: ["campaigns"],
        experiments: { members in
            (members["campaigns"]?.arrayValue ?? []).compactMap(\.objectValue).flatMap(tests)
        },
        stored: { bytes in
            let configuration = FlagshipConfiguration(environmentID: "any", apiKey: "any", mode: .bucketing)
            return (FlagshipProvider(configuration: configuration), bytes)
        }
    )

    /// The groups of a campaign that allocate visitors: those with a choice, except lists of visitors.
    private static func tests(_ campaign: [String: FlagValue]) -> [TestedExperiment] {
        let groups = (campaign["variationGroups"]?.arrayValue ?? []).compactMap(\.objectValue)
        let drawn = groups.filter { group in
            (group["variations"]?.arrayValue?.count ?? 0) > 1 && !isList(group)
        }
        let id = campaign["id"]?.stringValue ?? ""
        let name = campaign["name"]?.stringValue ?? id
        return drawn.map { group in
            let groupName = group["name"]?.stringValue ?? ""
            return TestedExperiment(
                id: id,
                name: drawn.count > 1 ? "\(name) · \(groupName)" : name,
                group: group["id"]?.stringValue,
                takesOtherGroups: drawn.count == 1,
                variations: (group["variations"]?.arrayValue ?? []).compactMap(\.objectValue).map(variation)
            )
        }
    }

    private static func isList(_ group: [String: FlagValue]) -> Bool {
        let lists = group["targeting"]?.objectValue?["targetingGroups"]?.arrayValue ?? []
        let rules = lists.flatMap { $0.objectValue?["targetings"]?.arrayValue ?? [] }.compactMap(\.objectValue)
        return !rules.isEmpty && rules.allSatisfy { $0["key"] == "fs_users" }
    }

    private static func variation(_ members: [String: FlagValue]) -> TestedExperiment.Arm {
        let id = members["id"]?.stringValue ?? ""
        return TestedExperiment.Arm(
            id: id,
            name: members["name"]?.stringValue,
            weight: members["allocation"]?.doubleValue ?? 0,
            isControl: members["reference"]?.boolValue ?? false,
            values: (members["modifications"]?.objectValue?["value"]?.objectValue ?? [:]).mapValues(\.comparable)
        )
    }
}
