import ConformanceKit
import Experimentation

extension UserSession {
    /// Reads a flag by the call for its type, as an application does; as any value if the type isn't known.
    func evaluation(
        of key: String,
        type: World.FlagType?,
        default fallback: FlagValue
    ) -> StepOutcome.Evaluation {
        switch type {
        case .bool: Self.told(details(key, default: fallback.boolValue ?? false)) { .bool($0) }
        case .int: Self.told(details(key, default: fallback.intValue ?? 0)) { .int($0) }
        case .double: Self.told(details(key, default: fallback.doubleValue ?? 0)) { .double($0) }
        case .string: Self.told(details(key, default: fallback.stringValue ?? "")) { .string($0) }
        default: Self.told(details(key, default: fallback)) { $0 }
        }
    }

    private static func told<Value>(
        _ details: EvaluationDetails<Value>,
        as value: (Value) -> FlagValue
    ) -> StepOutcome.Evaluation {
        StepOutcome.Evaluation(
            flag: details.flagKey,
            value: value(details.value),
            variant: details.variant,
            reason: details.reason.rawValue,
            error: details.errorCode?.rawValue
        )
    }
}
