import Experimentation

extension BucketingRule {
    /// Whether the condition holds by the iOS SDK's rules: types must match, and what can't be evaluated is false.
    func holdsOnIOS(for context: EvaluationContext) -> Bool {
        // In the original, an empty list holds for all users, even without a value to compare.
        if case .array(let list) = target, list.isEmpty { return true }
        guard let comparison, let value = value(for: context), FlagshipTranslation.isContextValue(value) else {
            return false
        }
        switch target {
        case .array(let list):
            switch comparison {
            case .equals, .contains: return list.contains { Self.iosHolds(comparison, value, $0) }
            case .notEquals, .notContains: return list.allSatisfy { Self.iosHolds(comparison, value, $0) }
            default: return false
            }
        default: return Self.iosHolds(comparison, value, target)
        }
    }

    private static func iosHolds(_ comparison: Comparison, _ value: FlagValue, _ operand: FlagValue) -> Bool {
        switch (value, operand) {
        case (.string(let value), .string(let operand)):
            switch comparison {
            case .contains: BucketingText.contains(value, operand)
            case .notContains: !BucketingText.contains(value, operand)
            default: order(comparison, value, operand) ?? false
            }
        case (.int(let value), .int(let operand)): order(comparison, value, operand) ?? false
        case (.double(let value), .double(let operand)): order(comparison, value, operand) ?? false
        case (.bool(let value), .bool(let operand)):
            switch comparison {
            case .equals: value == operand
            case .notEquals: value != operand
            default: false
            }
        // Values of different types are never equal, and so always unequal; nothing equals a target that can't be read.
        default: comparison == .notEquals
        }
    }
}
