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
        guard case .array(let elements) = value else { return serverHolds(comparison, value) }
        var any = false
        var all = true
        for element in elements {
            guard let holds = serverHolds(comparison, element) else { return nil }
            any = any || holds
            all = all && holds
        }
        return comparison.isNegative ? all : any
    }

    private func serverHolds(_ comparison: Comparison, _ value: FlagValue) -> Bool? {
        switch target {
        case .array(let list):
            switch comparison {
            case .equals, .contains, .startsWith, .endsWith:
                list.contains { Self.serverHolds(comparison, value, $0) ?? false }
            case .notEquals, .notContains: list.allSatisfy { Self.serverHolds(comparison, value, $0) ?? false }
            default: false
            }
        default: Self.serverHolds(comparison, value, target)
        }
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
        case (.bool(let value), .bool(let operand)):
            return switch comparison {
            case .equals: value == operand
            case .notEquals: value != operand
            default: nil
            }
        default:
            guard let value = number(value), let operand = number(operand) else { return nil }
            return switch comparison {
            case .contains, .notContains: false
            default: order(comparison, value, operand)
            }
        }
    }
}
