import Experimentation

extension BucketingRule {
    /// Whether the condition holds by the iOS SDK's rules: types must match, and it is false if it can't be evaluated.
    func holdsOnIOS(for context: EvaluationContext) -> Bool {
        // In the original, an empty list holds for all users, even without a value to compare.
        if case .array(let list) = target, list.isEmpty { return true }
        guard let comparison, let value = value(for: context), FlagshipTranslation.isContextValue(value) else {
            return false
        }
        return compare(comparison, value, by: Self.iosHolds) ?? false
    }

    private static func iosHolds(_ comparison: Comparison, _ value: FlagValue, _ operand: FlagValue) -> Bool? {
        switch (value, operand) {
        case (.string(let value), .string(let operand)):
            switch comparison {
            case .contains: BucketingText.contains(value, operand)
            case .notContains: !BucketingText.contains(value, operand)
            default: order(comparison, value, operand)
            }
        case (.int(let value), .int(let operand)): order(comparison, value, operand)
        case (.double(let value), .double(let operand)): order(comparison, value, operand)
        case (.bool(let value), .bool(let operand)): equality(comparison, value == operand)
        // Values of different types are never equal, and so always unequal; no value equals an unreadable target.
        default: comparison == .notEquals
        }
    }
}
