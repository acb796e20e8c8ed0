import Experimentation

/// A condition, prepared so that evaluating it allocates nothing.
struct BucketingRule: Sendable {
    /// The value to compare.
    enum Subject: Sendable {
        /// The visitor's id, regardless of the context.
        case visitor
        /// All users.
        case everybody
        /// A context value.
        case attribute(String)
    }

    enum Comparison: String, Sendable {
        case equals = "EQUALS"
        case notEquals = "NOT_EQUALS"
        case contains = "CONTAINS"
        case notContains = "NOT_CONTAINS"
        case greaterThan = "GREATER_THAN"
        case lowerThan = "LOWER_THAN"
        case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
        case lowerThanOrEquals = "LOWER_THAN_OR_EQUALS"
        case startsWith = "STARTS_WITH"
        case endsWith = "ENDS_WITH"
        case exists = "EXISTS"
        case notExists = "NOT_EXISTS"

        var isNegative: Bool { self == .notEquals || self == .notContains }
    }

    /// The value to compare with.
    enum Target: Sendable {
        case none
        case one(Operand)
        case list([Operand])
    }

    /// A comparable value; integers are distinguished from other numbers by value, not by notation.
    enum Operand: Sendable {
        case bool(Bool)
        case int(Int)
        case double(Double)
        case string(String)
        case other

        init(_ value: FlagValue) {
            switch value {
            case .bool(let value): self = .bool(value)
            case .int(let value): self = .int(value)
            case .double(let value): self = .double(value)
            case .string(let value): self = .string(value)
            case .null, .array, .object: self = .other
            }
        }
    }

    var subject: Subject
    /// The device's value of an attribute that the application doesn't set.
    var fallback: FlagValue?
    var comparison: Comparison?
    var target: Target

    /// Prepares a condition.
    ///
    /// - Parameters:
    ///   - rule: The condition in its written form.
    ///   - rules: The rules to evaluate it by.
    ///   - automatic: The context that the device provides.
    init(_ rule: BucketingFile.Rule, rules: FlagshipRules, automatic: [String: FlagValue]) {
        switch rule.key {
        case FlagshipContextKey.users: subject = .visitor
        case FlagshipContextKey.allUsers: subject = .everybody
        default: subject = .attribute(rule.key)
        }
        fallback = automatic[rule.key]
        comparison = Comparison(rawValue: rule.comparison)
        switch rules {
        case .ios:
            switch comparison {
            case .startsWith, .endsWith, .exists, .notExists: comparison = nil
            default: break
            }
            target = Self.iosTarget(rule.target)
        case .server:
            target = Self.serverTarget(rule.target)
        }
    }

    /// The value that the condition is evaluated on; `nil` if there is none.
    func value(for context: EvaluationContext) -> FlagValue? {
        switch subject {
        case .visitor: .string(context.flagshipVisitor)
        case .everybody: context.user.attributes.values[FlagshipContextKey.allUsers] ?? ""
        case .attribute(let key): context.user.attributes.values[key] ?? fallback
        }
    }

    private static func iosTarget(_ value: FlagValue) -> Target {
        guard let list = value.arrayValue else {
            return switch number(value) {
            case .null, .array, .object: .none
            case let scalar: .one(Operand(scalar))
            }
        }
        let elements = list.map { number($0) }
        // A list consists of integers, else of strings, else of numbers; any other is unreadable.
        let ints = elements.allSatisfy { if case .int = $0 { true } else { false } }
        let strings = elements.allSatisfy { if case .string = $0 { true } else { false } }
        if ints || strings { return .list(elements.map(Operand.init)) }
        let numbers = elements.compactMap { element -> Double? in
            switch element {
            case .int(let value): Double(value)
            case .double(let value): value
            default: nil
            }
        }
        return numbers.count == elements.count ? .list(numbers.map { .double($0) }) : .none
    }

    private static func serverTarget(_ value: FlagValue) -> Target {
        func folded(_ value: FlagValue) -> Operand {
            if case .string(let text) = value { .string(text.lowercased()) } else { Operand(value) }
        }
        return switch value {
        case .array(let list): .list(list.map(folded))
        case .null: .none
        case let scalar: .one(folded(scalar))
        }
    }

    /// Reads a number as the original does: one without a fraction is an integer, even when written `4.0`.
    private static func number(_ value: FlagValue) -> FlagValue {
        if case .double(let number) = value, let whole = Int(exactly: number) { .int(whole) } else { value }
    }

    /// Compares two values of one type; `nil` if the comparison isn't an ordering.
    static func order<Value: Comparable>(
        _ comparison: Comparison,
        _ value: Value,
        _ operand: Value
    ) -> Bool? {
        switch comparison {
        case .equals: value == operand
        case .notEquals: value != operand
        case .greaterThan: value > operand
        case .lowerThan: value < operand
        case .greaterThanOrEquals: value >= operand
        case .lowerThanOrEquals: value <= operand
        default: nil
        }
    }
}
