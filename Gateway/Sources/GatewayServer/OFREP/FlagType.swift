import Experimentation
import Synchronization

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

/// The types of a tenant's flags: those that its configuration declares, and those that were seen.
///
/// A vendor that is asked for each user shows one value at a time, so that a float may come as `10`; once a fraction has
/// been seen the flag is a float for good.
final class DeclaredTypes: Sendable {
    private let declared: [String: FlagType]
    private let seen = Mutex<[String: FlagType]>([:])
    /// More keys than this aren't remembered.
    private static let most = 10_000

    /// Creates types.
    ///
    /// - Parameter declared: What the configuration says; it wins.
    init(_ declared: [String: FlagType] = [:]) { self.declared = declared }

    /// The type of a flag that may have these values.
    func type(of key: String, values: some Sequence<FlagValue>) -> FlagType? {
        if let type = declared[key] { return type }
        let type = FlagType(of: values)
        return seen.withLock { seen in
            let known = seen[key]
            guard let type else { return known }
            if known == type { return known }
            // Only this step is one-way; a flag that became a text is a text from now on.
            if known == .float, type == .integer { return .float }
            if known != nil || seen.count < Self.most { seen[key] = type }
            return type
        }
    }
}
