import Experimentation

/// Whose rules decide which variation a visitor gets, where two of the vendor's programs disagree.
public enum FlagshipRules: String, Sendable, Hashable, Codable, CaseIterable {
    /// The SDK for iOS: a visitor keeps the variation that the SDK being replaced would give.
    case ios
    /// The Decision API: what the vendor's server would give, ranges of buckets and one test per visitor included.
    case server
}

/// A condition, prepared so that judging it allocates nothing.
struct BucketingRule: Sendable {
    /// Whose value is compared.
    enum Subject: Sendable {
        /// The visitor's id, whatever the context says.
        case visitor
        /// Everybody.
        case everybody
        /// A value of the context.
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

    /// What is compared with.
    enum Target: Sendable {
        case none
        case one(Operand)
        case list([Operand])
    }

    /// A value that can be compared; whole numbers are told from others however they are written.
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
    /// What an attribute is that the application doesn't set but the device knows.
    var fallback: FlagValue?
    var comparison: Comparison?
    var target: Target

    /// Prepares a condition.
    ///
    /// - Parameters:
    ///   - rule: The condition as it is written.
    ///   - rules: Whose rules it will be judged by.
    ///   - automatic: The context that the device knows by itself.
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

    /// What the condition is judged by: `nil` if there is nothing.
    func value(for context: EvaluationContext) -> FlagValue? {
        switch subject {
        case .visitor: .string(context.user.id)
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
        // A list is all whole numbers, else all texts, else all numbers, else one that can't be read.
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

    /// A number as the original reads it: one without a fraction is whole, also when it is written `4.0`.
    private static func number(_ value: FlagValue) -> FlagValue {
        if case .double(let number) = value, let whole = Int(exactly: number) { .int(whole) } else { value }
    }
}

// MARK: - The SDK for iOS

extension BucketingRule {
    /// Whether the condition holds by the rules of the SDK for iOS: types must be the same, and what can't be judged
    /// is false.
    func holdsOnIOS(for context: EvaluationContext) -> Bool {
        // In the original a list without elements holds for everybody, even without a value to compare.
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
        // Values of two types are never equal, and so always unequal.
        default: comparison == .notEquals
        }
    }

    fileprivate static func order<Value: Comparable>(
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

// MARK: - The Decision API

extension BucketingRule {
    /// Whether the condition holds by the server's rules; `nil` if it can't be judged, which spoils its whole group.
    func holdsOnServer(for context: EvaluationContext) -> Bool? {
        if case .everybody = subject { return true }
        guard let comparison else { return nil }
        let value = value(for: context).flatMap { $0 == .null ? nil : $0 }
        if comparison == .exists || comparison == .notExists {
            guard case .one(.bool(let wanted)) = target else { return nil }
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
        case .none: nil
        case .one(let operand): Self.serverHolds(comparison, value, operand)
        case .list(let list):
            switch comparison {
            case .equals, .contains, .startsWith, .endsWith:
                list.contains { Self.serverHolds(comparison, value, $0) ?? false }
            case .notEquals, .notContains: list.allSatisfy { Self.serverHolds(comparison, value, $0) ?? false }
            default: false
            }
        }
    }

    private static func serverHolds(_ comparison: Comparison, _ value: FlagValue, _ operand: Operand) -> Bool? {
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
            guard let value = number(Operand(value)), let operand = number(operand) else { return nil }
            return switch comparison {
            case .contains, .notContains: false
            default: order(comparison, value, operand)
            }
        }
    }

    private static func number(_ operand: Operand) -> Double? {
        switch operand {
        case .int(let value): Double(value)
        case .double(let value): value
        case .bool, .string, .other: nil
        }
    }
}

/// Searching in texts without allocating where both are plain.
enum BucketingText {
    /// Whether a text contains another, by canonical equivalence; nothing contains an empty text.
    static func contains(_ text: String, _ part: String) -> Bool {
        guard !part.isEmpty else { return false }
        let found = text.utf8.withContiguousStorageIfAvailable { text in
            part.utf8.withContiguousStorageIfAvailable { part in search(text, part) }
        }
        // No contiguous bytes, or letters beyond ASCII: the slow way, by whole characters.
        if case .some(.some(.some(let isThere))) = found { return isThere }
        return text.contains(part)
    }

    /// Searches plain ASCII byte by byte; `nil` if either isn't plain.
    private static func search(
        _ text: UnsafeBufferPointer<UInt8>,
        _ part: UnsafeBufferPointer<UInt8>
    ) -> Bool? {
        for byte in text where byte >= 0x80 { return nil }
        for byte in part where byte >= 0x80 { return nil }
        guard part.count <= text.count else { return false }
        for start in 0...(text.count - part.count) {
            var length = 0
            while length < part.count, text[start + length] == part[length] { length += 1 }
            if length == part.count { return true }
        }
        return false
    }
}
