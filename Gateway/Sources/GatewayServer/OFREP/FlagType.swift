import Experimentation

/// The type that a flag is declared with, in the words of OpenFeature's manifest.
public enum FlagType: String, Sendable, Hashable, CaseIterable {
    /// True or false.
    case boolean
    /// A text.
    case string
    /// A whole number.
    case integer
    /// A number, whole or not.
    case float
    /// An object or a list.
    case object

    /// The type of one value; `nil` for none.
    init?(of value: FlagValue) {
        switch value {
        case .null: return nil
        case .bool: self = .boolean
        case .string: self = .string
        case .int: self = .integer
        case .double: self = .float
        case .array, .object: self = .object
        }
    }

    /// The type of a flag that can have all of these values; `nil` if they don't say.
    init?(of values: some Sequence<FlagValue>) {
        var found: FlagType?
        for value in values {
            guard let type = FlagType(of: value) else { continue }
            if found == nil || found == .integer && type == .float { found = type }
        }
        guard let found else { return nil }
        self = found
    }

    /// A value as this type is written: a float has a fraction, an integer has none, whatever the vendor wrote.
    func written(_ value: FlagValue) -> FlagValue {
        switch (self, value) {
        case (.float, .int): value.doubleValue.map { .double($0) } ?? value
        case (.integer, .double): value.intValue.map { .int($0) } ?? value
        default: value
        }
    }
}
