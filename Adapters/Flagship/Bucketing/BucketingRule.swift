import Experimentation

/// A condition, prepared so that evaluating it allocates nothing.
struct BucketingRule: Sendable {
    /// The value to compare.
    enum Subject: Sendable {
        /// The visitor's id, regardless of the context.
        case visitor
        case everybody
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

        /// Whether the condition must hold for all values of a list, rather than for any.
        var isNegative: Bool { self == .notEquals || self == .notContains }
    }

    var subject: Subject
    /// The device's value of an attribute that the application doesn't set.
    var fallback: FlagValue?
    var comparison: Comparison?
    /// The value to compare with, or a list of alternatives; null if these rules can't read it.
    var target: FlagValue

    /// Prepares a condition in its written form for evaluation by these rules, with the device's part of the context.
    init(_ members: [String: FlagValue], rules: FlagshipRules, automatic: [String: FlagValue]) {
        let (key, value) = (members.text("key"), members["value"] ?? .null)
        switch key {
        case FlagshipContextKey.users: subject = .visitor
        case FlagshipContextKey.allUsers: subject = .everybody
        default: subject = .attribute(key)
        }
        fallback = automatic[key]
        comparison = Comparison(rawValue: members.text("operator"))
        if rules == .ios, [.startsWith, .endsWith, .exists, .notExists].contains(comparison) { comparison = nil }
        target = rules == .ios ? Self.iosTarget(value) : Self.serverTarget(value)
    }

    /// The value that the condition is evaluated on; `nil` if there is none.
    func value(for context: EvaluationContext) -> FlagValue? {
        switch subject {
        case .visitor: .string(context.flagshipVisitor)
        case .everybody: context.user.attributes.values[FlagshipContextKey.allUsers] ?? ""
        case .attribute(let key): context.user.attributes.values[key] ?? fallback
        }
    }

    private static func iosTarget(_ value: FlagValue) -> FlagValue {
        guard let list = value.arrayValue else { return value.objectValue == nil ? whole(value) : .null }
        let elements = list.map { whole($0) }
        // A list consists of integers, else of strings, else of numbers; any other is unreadable.
        let ints = elements.allSatisfy { if case .int = $0 { true } else { false } }
        let strings = elements.allSatisfy { if case .string = $0 { true } else { false } }
        if ints || strings { return .array(elements) }
        let numbers = elements.compactMap(number)
        return numbers.count == elements.count ? .array(numbers.map { .double($0) }) : .null
    }

    private static func serverTarget(_ value: FlagValue) -> FlagValue {
        switch value {
        case .array(let list): .array(list.map(serverTarget))
        case .string(let text): .string(text.lowercased())
        default: value
        }
    }

    /// Reads a number as the original does: one without a fraction is an integer, even when written `4.0`.
    private static func whole(_ value: FlagValue) -> FlagValue {
        if case .double(let number) = value, let whole = Int(exactly: number) { .int(whole) } else { value }
    }

    /// The value of an integer or another number, rounded if it must be.
    static func number(_ value: FlagValue) -> Double? {
        switch value {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// Whether a value compares with the target or, one by one, with a list's values; `nil` if it can't be evaluated.
    func compare(
        _ comparison: Comparison,
        _ value: FlagValue,
        by holds: (Comparison, FlagValue, FlagValue) -> Bool?
    ) -> Bool? {
        guard case .array(let list) = target else { return holds(comparison, value, target) }
        return switch comparison {
        case .equals, .contains, .startsWith, .endsWith: list.contains { holds(comparison, value, $0) ?? false }
        case .notEquals, .notContains: list.allSatisfy { holds(comparison, value, $0) ?? false }
        default: false
        }
    }

    /// Compares two values of one type; `nil` if the comparison isn't an ordering.
    static func order<Value: Comparable>(_ comparison: Comparison, _ value: Value, _ operand: Value) -> Bool? {
        switch comparison {
        case .greaterThan: value > operand
        case .lowerThan: value < operand
        case .greaterThanOrEquals: value >= operand
        case .lowerThanOrEquals: value <= operand
        default: equality(comparison, value == operand)
        }
    }

    /// Compares two values for equality only; `nil` if the comparison asks for more.
    static func equality(_ comparison: Comparison, _ isEqual: Bool) -> Bool? {
        switch comparison {
        case .equals: isEqual
        case .notEquals: !isEqual
        default: nil
        }
    }
}
