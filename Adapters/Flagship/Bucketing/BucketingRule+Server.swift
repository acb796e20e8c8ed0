import Experimentation

extension BucketingRule {
    /// Whether the condition holds by the server's rules; `nil` if it can't be evaluated, which invalidates its whole
    /// group.
    func holdsOnServer(for context: EvaluationContext) -> Bool? {
        if case .everybody = subject { return true }
        guard let comparison else { return nil }
        let value = value(for: context).flatMap { $0 == .null ? Optional.none : $0 }
        if comparison == .exists || comparison == .notExists {
            guard case .bool(let wanted) = target else { return nil }
            return ((value != nil) == wanted) == (comparison == .exists)
        }
        guard let value else { return false }
        guard case .array(let elements) = value else { return compare(comparison, value, by: Self.serverHolds) }
        var (any, all) = (false, true)
        for element in elements {
            guard let holds = compare(comparison, element, by: Self.serverHolds) else { return nil }
            (any, all) = (any || holds, all && holds)
        }
        return comparison.isNegative ? all : any
    }

    private static func serverHolds(_ comparison: Comparison, _ value: FlagValue, _ operand: FlagValue) -> Bool? {
        switch (value, operand) {
        case (.string(let value), .string(let operand)):
            let value = value.lowercased()
            return switch comparison {
            case .contains: operand.isEmpty || value.contains(operand)
            case .notContains: !(operand.isEmpty || value.contains(operand))
            case .startsWith: value.hasPrefix(operand)
            case .endsWith: value.hasSuffix(operand)
            default: order(comparison, value, operand)
            }
        case (.bool(let value), .bool(let operand)): return equality(comparison, value == operand)
        default:
            guard let value = number(value), let operand = number(operand) else { return nil }
            return comparison == .contains || comparison == .notContains ? false : order(comparison, value, operand)
        }
    }
}
