import Foundation

extension FlagValue {
    /// Creates a value from an untyped one, as in vendors' SDKs and property lists: dictionaries with string keys,
    /// lists, Booleans, numbers, strings and null.
    ///
    /// A boxed Boolean stays a Boolean and a boxed number a number. Integers beyond `Int` become floating-point
    /// numbers.
    ///
    /// - Parameter any: The value.
    /// - Throws: ``ErrorCode/invalidArgument`` for anything else, such as a date; the error names the type, not the
    ///   value, which may be personal.
    public init(any: Any) throws(ExperimentationError) {
        self = try Self.value(any, depth: 0)
    }

    /// The untyped value: `[String: Any]`, `[Any]`, `Bool`, `Int`, `Double`, `String` or `NSNull`.
    ///
    /// Cast this property: `value.any as? [String: Any]`. (Casting a ``FlagValue`` itself compiles but never succeeds.)
    public var any: Any {
        switch self {
        case .null: NSNull()
        case .bool(let value): value
        case .int(let value): value
        case .double(let value): value
        case .string(let value): value
        case .array(let values): values.map(\.any)
        case .object(let values): values.mapValues(\.any)
        }
    }

    private static func value(_ any: Any, depth: Int) throws(ExperimentationError) -> FlagValue {
        guard depth < 512 else {
            throw ExperimentationError(.invalidArgument, "The value is nested deeper than 512 levels.")
        }
        // Our own kinds first: a boxed Boolean also passes for a number.
        switch any {
        case let value as FlagValue: return value
        case is NSNull: return .null
        case let value as String: return .string(value)
        case let value as [String: Any]:
            var members: [String: FlagValue] = [:]
            for (name, member) in value { members[name] = try Self.value(member, depth: depth + 1) }
            return .object(members)
        case let value as [Any]:
            var elements: [FlagValue] = []
            for element in value { elements.append(try Self.value(element, depth: depth + 1)) }
            return .array(elements)
        default: break
        }
        guard let number = number(any) else {
            throw ExperimentationError(.invalidArgument, "A value of the type \(type(of: any)) has no form here.")
        }
        return number
    }

    /// Returns the members of a dictionary that can be represented.
    fileprivate static func members(_ dictionary: [AnyHashable: Any], depth: Int) -> [String: FlagValue] {
        var members: [String: FlagValue] = [:]
        for (name, member) in dictionary {
            guard let name = name.base as? String else { continue }
            members[name] = lenient(member, depth: depth + 1)
        }
        return members
    }

    private static func lenient(_ any: Any, depth: Int) -> FlagValue? {
        guard depth < 512 else { return nil }
        switch any {
        case let value as FlagValue: return value
        case let value as [AnyHashable: Any]: return .object(members(value, depth: depth))
        case let value as [Any]: return .array(value.compactMap { lenient($0, depth: depth + 1) })
        default: return try? FlagValue(any: any)
        }
    }

    private static func number(_ any: Any) -> FlagValue? {
        if let number = any as? NSNumber, type(of: any) is NSNumber.Type {
            // A process has two boxed Booleans, and every boxed Boolean is one of them.
            if number === NSNumber(value: true) || number === NSNumber(value: false) { return .bool(number.boolValue) }
            if let whole = Int(exactly: number) { return .int(whole) }
            if let decimal = number as? NSDecimalNumber { return .double(Double(nearestTo: decimal.decimalValue)) }
            return .double(number.doubleValue)
        }
        if let value = any as? Bool { return .bool(value) }
        if let value = any as? any BinaryInteger {
            return Int(exactly: value).map { .int($0) } ?? .double(Double(value))
        }
        if let value = any as? any BinaryFloatingPoint { return .double(Double(value)) }
        return nil
    }
}

extension [String: FlagValue] {
    /// Creates values from a notification's user info.
    ///
    /// What can't be represented (dates, bytes, keys that aren't strings) is left out, at any depth, so that the
    /// notification is reported nevertheless.
    ///
    /// - Parameter userInfo: The `userInfo` of the notification.
    public init(userInfo: [AnyHashable: Any]) { self = FlagValue.members(userInfo, depth: 0) }

    /// The untyped dictionary; casting this dictionary itself compiles, but leaves values that can't be cast.
    public var any: [String: Any] { mapValues(\.any) }
}

extension Attributes {
    /// Creates attributes from an untyped dictionary; see ``FlagValue/init(any:)``.
    ///
    /// - Throws: ``ErrorCode/invalidArgument`` for a value that can't be represented.
    public init(any: [String: Any]) throws(ExperimentationError) {
        self.init(try FlagValue(any: any).objectValue ?? [:])
    }

    /// The untyped dictionary.
    public var any: [String: Any] { values.any }
}
