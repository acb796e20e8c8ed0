import Experimentation
import ExperimentationTesting
import Foundation

/// The flags required by OpenFeature's scenarios.
enum OpenFeatureFlags {
    /// Loads the flags of `test-flags.json`, and one that only the older feature file uses.
    static func load(from folder: URL) throws -> [InMemoryFlag] {
        let data = try Data(contentsOf: folder.appending(path: "test-flags.json"))
        let document = try JSONDecoder().decode([String: FlagValue].self, from: data)
        return document.sorted { $0.key < $1.key }.map { key, value in flag(key, value.objectValue ?? [:]) }
            + [contextAware]
    }

    private static func flag(_ key: String, _ members: [String: FlagValue]) -> InMemoryFlag {
        let expression = members["contextEvaluator"]?.stringValue
        return InMemoryFlag(
            key,
            variants: members["variants"]?.objectValue ?? [:],
            defaultVariant: members["defaultVariant"]?.stringValue,
            isDisabled: members["disabled"]?.boolValue ?? false,
            metadata: members["flagMetadata"]?.objectValue ?? [:],
            target: expression.flatMap { evaluators[$0] }
        )
    }

    /// The file's two CEL expressions as closures, since CEL itself isn't under test.
    private static let evaluators: [String: @Sendable (EvaluationContext) -> String?] = [
        "email == 'ballmer@macrosoft.com' ? 'zero' : ''": { context in
            context["email"] == "ballmer@macrosoft.com" ? "zero" : nil
        },
        "!customer && email == 'ballmer@macrosoft.com' && age > 10 ? 'internal' : ''": { context in
            context["customer"] == false && context["email"] == "ballmer@macrosoft.com"
                && (context["age"]?.doubleValue ?? 0) > 10 ? "internal" : nil
        },
    ]

    /// The deprecated `evaluation.feature` uses a flag that its data file no longer contains.
    private static let contextAware = InMemoryFlag(
        "context-aware",
        variants: ["internal": "INTERNAL", "external": "EXTERNAL"],
        defaultVariant: "external",
        target: { context in
            context["fn"] == "Sulisław" && context["ln"] == "Świętopełk" && context["age"] == 29
                && context["customer"] == false ? "internal" : nil
        }
    )
}
