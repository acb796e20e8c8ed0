import AdapterKit
import ComparisonKit
import Experimentation
import SigmaAdapter

extension RuleFile {
    /// A `config.json`.
    static let sigma = RuleFile(
        vendor: "sigma",
        marks: ["experiments", "feature_flags"],
        experiments: { members in
            (members["experiments"]?.arrayValue ?? []).compactMap(\.objectValue).compactMap(test)
        },
        stored: { bytes in
            // The source stores the user's place as a line before the configuration; a file has none.
            (
                SigmaProvider(configuration: SigmaConfiguration(projectToken: "any")),
                Array("{}\n".utf8) + bytes
            )
        }
    )

    private static let holdout = 5.0

    private static func test(_ experiment: [String: FlagValue]) -> TestedExperiment? {
        let groups = (experiment["groups"]?.arrayValue ?? []).compactMap(\.objectValue)
        guard groups.count > 1, experiment["type"]?.numberOrText != holdout,
            let name = experiment["name"]?.stringValue
        else { return nil }
        return TestedExperiment(
            id: name,
            variations: groups.map { group in
                let id = group["name"]?.stringValue ?? ""
                let label = group["label"]?.stringValue
                return TestedExperiment.Arm(
                    id: id,
                    name: label?.isEmpty == false ? label : id,
                    weight: group["weight"]?.numberOrText ?? 0,
                    isControl: label?.lowercased() == "control",
                    values: values(of: id, in: experiment)
                )
            }
        )
    }

    /// The values that a group gives to users who match no other rule.
    private static func values(of group: String, in experiment: [String: FlagValue]) -> [String: FlagValue] {
        var values: [String: FlagValue] = [:]
        for flag in (experiment["feature_flags"]?.arrayValue ?? []).compactMap(\.objectValue) {
            let own = flag["groups"]?.arrayValue?.compactMap(\.objectValue).first { $0["group"] == .string(group) }
            let rule = own?["rules"]?.arrayValue?.compactMap(\.objectValue).first { $0["is_default"] == true }
            guard let key = flag["name"]?.stringValue, let text = rule?["value"]?.stringValue else { continue }
            values[key] = value(text, type: flag["type"]?.stringValue ?? "string")
        }
        return values
    }

    private static func value(_ text: String, type: String) -> FlagValue {
        switch type {
        case "bool": text == "true" ? true : text == "false" ? false : .string(text)
        case "integer", "number": Double(text).map { FlagValue.double($0).comparable } ?? .string(text)
        case "json": (try? JSON.parse(Array(text.utf8))) ?? .string(text)
        default: .string(text)
        }
    }
}
