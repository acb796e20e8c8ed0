/// Which implementation's targeting rules apply.
public enum FlagshipMockRules: String, Sendable, Hashable, Codable {
    /// The Decision API's rules.
    case server
    /// The rules of the SDK for iOS.
    case sdk
}

/// Decides whether a variation group targets a visitor.
enum FlagshipMockTargeting {
    /// The Decision API's rules: rule lists are alternatives, and all rules of a list must match.
    ///
    /// A rule that can't be evaluated (unknown operator, mixed types) disqualifies the whole group.
    static func server(
        _ group: FlagshipMockFile.Group,
        visitorID: String,
        context: [String: MockJSON]
    ) -> Bool {
        var matches = false
        for list in group.targetingGroups ?? [] {
            guard let list, !list.isEmpty else { continue }
            var all = true
            for rule in list {
                switch serverRule(rule, visitorID: visitorID, context: context) {
                case .some(let holds): all = all && holds
                case .none: return false
                }
            }
            matches = matches || all
        }
        return matches
    }

    /// Whether a rule matches; `nil` if it can't be evaluated.
    private static func serverRule(
        _ rule: FlagshipMockFile.Targeting,
        visitorID: String,
        context: [String: MockJSON]
    ) -> Bool? {
        if rule.key == "fs_all_users" { return true }
        let value = rule.key == "fs_users" ? .string(visitorID) : context[rule.key].flatMap { $0.isNull ? nil : $0 }
        switch rule.comparison {
        case "EXISTS", "NOT_EXISTS":
            guard let wanted = rule.value.bool else { return nil }
            return ((value != nil) == wanted) == (rule.comparison == "EXISTS")
        default: break
        }
        guard let value else { return false }
        let isNegative = rule.comparison.hasPrefix("NOT_")
        if case .array(let elements) = value {
            // A list in the context is tested value by value.
            var any = false
            var all = true
            for element in elements {
                guard let holds = serverRule(rule, value: element) else { return nil }
                any = any || holds
                all = all && holds
            }
            return isNegative ? all : any
        }
        return serverRule(rule, value: value)
    }

    private static func serverRule(_ rule: FlagshipMockFile.Targeting, value: MockJSON) -> Bool? {
        guard case .array(let targets) = rule.value else {
            return serverComparison(rule.comparison, value, rule.value)
        }
        switch rule.comparison {
        case "EQUALS", "CONTAINS", "STARTS_WITH", "ENDS_WITH":
            return targets.contains { serverComparison(rule.comparison, value, $0) ?? false }
        case "NOT_EQUALS", "NOT_CONTAINS":
            return targets.allSatisfy { serverComparison(rule.comparison, value, $0) ?? false }
        default: return false
        }
    }

    private static func serverComparison(
        _ comparison: String,
        _ value: MockJSON,
        _ target: MockJSON
    ) -> Bool? {
        switch (value, target) {
        case (.string(let value), .string(let target)):
            return serverText(comparison, value.lowercased(), target.lowercased())
        case (.bool(let value), .bool(let target)):
            switch comparison {
            case "EQUALS": return value == target
            case "NOT_EQUALS": return value != target
            default: return nil
            }
        default:
            guard let value = value.number, let target = target.number else { return nil }
            switch comparison {
            case "CONTAINS", "NOT_CONTAINS": return false
            default: return order(comparison, value, target)
            }
        }
    }

    private static func serverText(_ comparison: String, _ value: String, _ target: String) -> Bool? {
        switch comparison {
        case "CONTAINS": target.isEmpty || value.contains(target)
        case "NOT_CONTAINS": !(target.isEmpty || value.contains(target))
        case "STARTS_WITH": value.hasPrefix(target)
        case "ENDS_WITH": value.hasSuffix(target)
        default: order(comparison, value, target)
        }
    }

    private static func order<Value: Comparable>(_ comparison: String, _ value: Value, _ target: Value) -> Bool? {
        switch comparison {
        case "EQUALS": value == target
        case "NOT_EQUALS": value != target
        case "GREATER_THAN": value > target
        case "LOWER_THAN": value < target
        case "GREATER_THAN_OR_EQUALS": value >= target
        case "LOWER_THAN_OR_EQUALS": value <= target
        default: nil
        }
    }

    /// The rules of the SDK for iOS: types must be equal, and a rule that can't be evaluated only fails itself.
    static func sdk(_ group: FlagshipMockFile.Group, visitorID: String, context: [String: MockJSON]) -> Bool {
        (group.targetingGroups ?? []).contains { list in
            (list ?? []).allSatisfy { sdkRule($0, visitorID: visitorID, context: context) }
        }
    }

    private static func sdkRule(
        _ rule: FlagshipMockFile.Targeting,
        visitorID: String,
        context: [String: MockJSON]
    ) -> Bool {
        let known = [
            "EQUALS", "NOT_EQUALS", "CONTAINS", "NOT_CONTAINS", "GREATER_THAN", "LOWER_THAN",
            "GREATER_THAN_OR_EQUALS", "LOWER_THAN_OR_EQUALS",
        ]
        if case .array(let targets) = rule.value, targets.isEmpty { return true }
        guard known.contains(rule.comparison) else { return false }
        let value = rule.key == "fs_users" ? MockJSON.string(visitorID) : context[rule.key]
        switch value {
        case .string, .bool, .int, .double: break
        default: return false
        }
        guard let value else { return false }
        guard case .array(let targets) = rule.value else {
            return sdkComparison(rule.comparison, value, rule.value)
        }
        guard let targets = oneType(targets) else { return rule.comparison == "NOT_EQUALS" }
        switch rule.comparison {
        case "EQUALS", "CONTAINS": return targets.contains { sdkComparison(rule.comparison, value, $0) }
        case "NOT_EQUALS", "NOT_CONTAINS": return targets.allSatisfy { sdkComparison(rule.comparison, value, $0) }
        default: return false
        }
    }

    private static func oneType(_ targets: [MockJSON]) -> [MockJSON]? {
        if targets.allSatisfy({ $0.int != nil }) || targets.allSatisfy({ $0.string != nil }) { return targets }
        let numbers = targets.compactMap(\.number)
        return numbers.count == targets.count ? numbers.map { .double($0) } : nil
    }

    private static func sdkComparison(
        _ comparison: String,
        _ value: MockJSON,
        _ target: MockJSON
    ) -> Bool {
        switch (comparison, value, target) {
        case ("EQUALS", _, _): value == target
        case ("NOT_EQUALS", _, _): value != target
        case ("CONTAINS", .string(let value), .string(let target)): !target.isEmpty && value.contains(target)
        case ("NOT_CONTAINS", .string(let value), .string(let target)): target.isEmpty || !value.contains(target)
        case (_, .int(let value), .int(let target)): order(comparison, value, target) ?? false
        case (_, .double(let value), .double(let target)): order(comparison, value, target) ?? false
        case (_, .string(let value), .string(let target)): order(comparison, value, target) ?? false
        default: false
        }
    }
}
