import Experimentation

/// The flags that an application knows, as the OpenFeature command line keeps them: keys, types, defaults.
///
/// Format: `openfeature-cli/manifest`, schema version 0. Properties that the format doesn't know are ignored, so that other
/// tools' files can be read.
public struct FlagManifest: Sendable, Equatable {
    /// One flag.
    public struct Flag: Sendable, Equatable {
        /// The key, as the vendor has it.
        public var key: String
        /// What values of it are.
        public var type: FlagType
        /// What readers get where the vendor gives no value.
        public var defaultValue: FlagValue
        /// What it is for; empty if nothing is said.
        public var description: String
        /// What objects of it consist of, if that is said.
        public var shape: ObjectShape?
        /// The line of the file that it begins in, counted from 1; 0 if it comes from no file.
        public var line: Int

        /// Creates a flag.
        public init(
            _ key: String,
            _ type: FlagType,
            default defaultValue: FlagValue,
            description: String = "",
            shape: ObjectShape? = nil,
            line: Int = 0
        ) {
            self.key = key
            self.type = type
            self.defaultValue = defaultValue
            self.description = description
            self.shape = shape
            self.line = line
        }
    }

    /// The flags, sorted by key.
    public private(set) var flags: [Flag]

    /// Creates a manifest.
    ///
    /// - Parameter flags: The flags, each key once; in any order.
    public init(_ flags: [Flag]) {
        self.flags = flags.sorted { $0.key < $1.key }
    }

    /// The flag of a key.
    public subscript(key: String) -> Flag? { flags.first { $0.key == key } }
}

/// What values of a flag are.
public enum FlagType: String, Sendable, CaseIterable {
    /// True or false.
    case boolean
    /// A text.
    case string
    /// A whole number.
    case integer
    /// A number with or without a fraction.
    case float
    /// An object, a list, or anything else.
    case object

    /// The type by one of the names that files in use have for it.
    init?(named name: String) {
        switch name {
        case "boolean", "Boolean", "bool": self = .boolean
        case "string", "String": self = .string
        case "integer", "Integer": self = .integer
        case "float", "Float", "number", "Number": self = .float
        case "object", "Object", "JSON": self = .object
        default: return nil
        }
    }

    /// Whether a value is of this type.
    public func holds(_ value: FlagValue) -> Bool {
        switch self {
        case .boolean: value.boolValue != nil
        case .string: value.stringValue != nil
        case .integer: value.intValue != nil
        case .float: value.doubleValue != nil
        case .object: true
        }
    }

    /// The type that a value is of; whole numbers are integers.
    public init(of value: FlagValue) {
        switch value {
        case .bool: self = .boolean
        case .string: self = .string
        case .int: self = .integer
        case .double: self = .float
        case .null, .array, .object: self = .object
        }
    }
}
