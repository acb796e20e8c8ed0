import Experimentation

/// An application's flags in the manifest format of the OpenFeature command line: keys, types, defaults.
///
/// Format: `openfeature-cli/manifest`, schema version 0. Unknown properties are ignored, so that files of other tools
/// can be read.
public struct FlagManifest: Sendable, Equatable {
    /// One flag.
    public struct Flag: Sendable, Equatable {
        /// The key in the vendor's console.
        public var key: String
        /// The type of its values.
        public var type: FlagType
        /// The value that readers get if the vendor provides none.
        public var defaultValue: FlagValue
        /// What it is for; may be empty.
        public var description: String
        /// The structure of object values, if given.
        public var shape: ObjectShape?
        /// The line of the file at which it begins, from 1; 0 without a file.
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
    /// - Parameter flags: The flags in any order; each key once.
    public init(_ flags: [Flag]) {
        self.flags = flags.sorted { $0.key < $1.key }
    }

    /// The flag with a key.
    public subscript(key: String) -> Flag? { flags.first { $0.key == key } }
}

/// The type of a flag's values.
public enum FlagType: String, Sendable, CaseIterable {
    /// `true` or `false`.
    case boolean
    /// A string.
    case string
    /// A whole number.
    case integer
    /// A number with or without a fraction.
    case float
    /// An object, a list, or anything else.
    case object

    /// Creates a type from one of its names in existing files.
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

    /// Creates the type of a value; whole numbers are integers.
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
