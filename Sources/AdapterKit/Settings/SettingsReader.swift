import Experimentation

/// Reads a configuration file's settings by key, each once, and refuses unknown keys.
///
/// Every error is an `ErrorCode.configuration` that names the file, the key and what was expected; a value is never
/// repeated, since it may be a secret.
///
/// ```swift
/// init(reading settings: inout SettingsReader) throws(ExperimentationError) {
///     environmentID = try settings.string("environmentID")
///     apiKey = try settings.secret("apiKey")                       // a text, or {"env": "NAME"}
///     timeout = try settings.seconds("timeout", default: .seconds(2), in: .milliseconds(1)...(.seconds(60)))
///     decision = try settings.section("endpoints")?.endpoint("decision") ?? Self.defaultDecision
/// }
/// ```
public struct SettingsReader: Sendable {
    /// The file's name, for messages.
    public let file: String
    private let path: String
    private let environment: [String: String]
    private let fields: [String: FlagValue]
    private var known: Set<String> = []

    /// Creates a reader over settings that have already been parsed, for instance from YAML.
    ///
    /// - Parameters:
    ///   - settings: The settings, an object.
    ///   - file: The file's name, for messages.
    ///   - environment: The environment variables that secrets may refer to.
    /// - Throws: `ErrorCode.configuration` if the settings aren't an object.
    public init(
        _ settings: FlagValue,
        file: String,
        environment: [String: String] = [:]
    ) throws(ExperimentationError) {
        guard case .object(let fields) = settings else {
            throw ExperimentationError(.configuration, "\(file): expected an object, found \(Self.kind(settings))")
        }
        self.init(fields, file: file, path: "", environment: environment)
    }

    /// Creates a reader over a JSON document.
    public init(
        json bytes: [UInt8],
        file: String,
        environment: [String: String] = [:]
    ) throws(ExperimentationError) {
        do throws(ExperimentationError) {
            try self.init(try JSON.parse(bytes), file: file, environment: environment)
        } catch  where error.code == .parseError {
            throw error.about(file, as: .configuration)
        }
    }

    private init(_ fields: [String: FlagValue], file: String, path: String, environment: [String: String]) {
        self.fields = fields
        self.file = file
        self.path = path
        self.environment = environment
    }

    /// Refuses unknown keys.
    public func finish() throws(ExperimentationError) {
        guard let stray = fields.keys.filter({ !known.contains($0) }).min() else { return }
        throw error(stray, "no such setting; there are \(known.sorted().joined(separator: ", "))")
    }

    /// Returns an error about a key, for a rule that the reader doesn't know.
    public func error(_ key: String, _ reason: String) -> ExperimentationError {
        ExperimentationError(.configuration, "\(file): \"\(path)\(key)\": \(reason)")
    }

    /// Returns a value made from several settings; an error about them names the file.
    package func made<Value>(
        _ make: () throws(ExperimentationError) -> Value
    ) throws(ExperimentationError) -> Value {
        do throws(ExperimentationError) { return try make() } catch { throw error.about(file, as: .configuration) }
    }

    /// Whether a key has a value other than null.
    public mutating func has(_ key: String) -> Bool { value(key) != nil }

    /// The keys that are present, sorted; for settings whose keys the author chooses.
    public var keys: [String] { fields.keys.sorted() }

    /// The raw value; `nil` if it is missing or null.
    public mutating func value(_ key: String) -> FlagValue? {
        known.insert(key)
        let value = fields[key]
        return value == .null ? nil : value
    }

    /// Returns a section's reader, whose messages name both keys; `nil` if there is none.
    ///
    /// The caller must call the section's own ``finish()``; ``section(_:read:)`` does so.
    public mutating func section(_ key: String) throws(ExperimentationError) -> SettingsReader? {
        guard let value = value(key) else { return nil }
        guard case .object(let inner) = value else { throw mismatch(key, "an object", value) }
        return SettingsReader(inner, file: file, path: "\(path)\(key).", environment: environment)
    }

    /// Returns the readers of a list of sections, whose messages name the key and the index; empty if there is none.
    ///
    /// The caller must call each section's own ``finish()``.
    public mutating func sections(_ key: String) throws(ExperimentationError) -> [SettingsReader] {
        guard let value = value(key) else { return [] }
        guard case .array(let values) = value else { throw mismatch(key, "a list of objects", value) }
        var readers: [SettingsReader] = []
        for (index, value) in values.enumerated() {
            guard case .object(let inner) = value else { throw mismatch("\(key)[\(index)]", "an object", value) }
            readers.append(
                SettingsReader(inner, file: file, path: "\(path)\(key)[\(index)].", environment: environment)
            )
        }
        return readers
    }

    /// Reads a section, or an empty one if there is none, and refuses unknown keys in it.
    public mutating func section<Value>(
        _ key: String,
        read: (inout SettingsReader) throws(ExperimentationError) -> Value
    ) throws(ExperimentationError) -> Value {
        var inner =
            try section(key) ?? SettingsReader([:], file: file, path: "\(path)\(key).", environment: environment)
        let value = try read(&inner)
        try inner.finish()
        return value
    }

    func mismatch(_ key: String, _ expected: String, _ value: FlagValue?) -> ExperimentationError {
        guard let value else { return error(key, "missing; expected \(expected)") }
        return error(key, "expected \(expected), found \(Self.kind(value))")
    }

    /// The value of an environment variable.
    func variable(_ name: String) -> String? { environment[name] }

    private static func kind(_ value: FlagValue) -> String {
        switch value {
        case .null: "null"
        case .bool: "true or false"
        case .int: "a whole number"
        case .double: "a number"
        case .string: "a text"
        case .array: "a list"
        case .object: "an object"
        }
    }
}
