import Experimentation

extension BucketingRule {
    /// Whether the condition holds by the iOS SDK's rules: types must match, and what can't be evaluated is false.
    func holdsOnIOS(for context: EvaluationContext) -> Bool {
        // In the original, an empty list holds for all users, even without a value to compare.
        if case .list(let list) = target, list.isEmpty { return true }
        guard let comparison, let value = value(for: context) else { return false }
        switch value {
        case .null, .array, .object: return false
        case .bool, .int, .double, .string: break
        }
        switch target {
        case .none: return comparison == .notEquals
        case .one(let operand): return Self.iosHolds(comparison, value, operand)
        case .list(let list):
            switch comparison {
            case .equals, .contains:
                for operand in list where Self.iosHolds(comparison, value, operand) { return true }
                return false
            case .notEquals, .notContains:
                for operand in list where !Self.iosHolds(comparison, value, operand) { return false }
                return true
            default: return false
            }
        }
    }

    private static func iosHolds(_ comparison: Comparison, _ value: FlagValue, _ operand: Operand) -> Bool {
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
        // Values of different types are never equal, and so always unequal.
        default: comparison == .notEquals
        }
    }
}
