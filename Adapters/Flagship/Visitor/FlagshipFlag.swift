import AdapterKit
import Experimentation

/// A type that a Flagship flag can be read as.
public protocol FlagshipFlagReadable: AttributeConvertible, Sendable {
    /// Reads a value; `nil` if it has another type.
    static func read(_ value: FlagValue) -> Self?
}

extension Bool: FlagshipFlagReadable {
    /// Reads a Boolean.
    public static func read(_ value: FlagValue) -> Bool? { value.boolValue }
}

extension Int: FlagshipFlagReadable {
    /// Reads an integer, also one written with a fraction of zero.
    public static func read(_ value: FlagValue) -> Int? { value.intValue }
}

extension Double: FlagshipFlagReadable {
    /// Reads a number, including integers: the vendor's server writes 3.0 as 3.
    public static func read(_ value: FlagValue) -> Double? { value.doubleValue }
}

extension String: FlagshipFlagReadable {
    /// Reads a string.
    public static func read(_ value: FlagValue) -> String? { value.stringValue }
}

extension [String: FlagValue]: FlagshipFlagReadable {
    /// Reads an object.
    public static func read(_ value: FlagValue) -> [String: FlagValue]? { value.objectValue }
}

extension [FlagValue]: FlagshipFlagReadable {
    /// Reads a list.
    public static func read(_ value: FlagValue) -> [FlagValue]? { value.arrayValue }
}

/// A visitor's flag; everything about it is evaluated when it is read.
public struct FlagshipFlag: Sendable {
    /// The flag's key.
    public let key: String
    let visitor: FlagshipVisitor?

    /// The flag's current status.
    public var status: FlagshipFlagStatus {
        guard let visitor else { return .notFound }
        // The panic may have been found by polling, or by another visitor's fetch.
        if visitor.flagship.status == .panic { return .panic }
        return FlagshipFlagStatus(fetchStatus: visitor.fetchStatus, isKnown: exists())
    }

    /// Returns the flag's value, or the default if the flag is missing, is null or has another type.
    ///
    /// - Parameters:
    ///   - defaultValue: The value to return instead.
    ///   - visitorExposed: Whether the visitor sees the returned value, so that an exposure is reported according to
    ///     the policy: of the flag's value, or of the default if the flag is null and so leaves the value to the
    ///     caller. A flag that is missing or has another type is never reported.
    /// - Returns: The value.
    public func value<Value: FlagshipFlagReadable>(
        default defaultValue: Value,
        visitorExposed: Bool = true
    ) -> Value {
        read(defaultValue.attributeValue, visitorExposed) ?? defaultValue
    }

    /// Returns the flag's value as the requested type, or `nil`; if the visitor sees it, an exposure is reported.
    public func value<Value: FlagshipFlagReadable>(as type: Value.Type, visitorExposed: Bool = true) -> Value? {
        read(nil, visitorExposed)
    }

    private func read<Value: FlagshipFlagReadable>(_ defaultValue: FlagValue?, _ visitorExposed: Bool) -> Value? {
        guard let visitor else { return nil }
        visitor.noteRead(key, default: defaultValue)
        guard let resolution else { return nil }
        if visitor.fetchStatus == .fetchRequired {
            visitor.log.log(.trace, .flag, "the flags are out of date: \(visitor.fetchReason.rawValue)")
        }
        let value = Value.read(resolution.value)
        guard value != nil || resolution.value == .null else {
            visitor.log.log(.warning, .flag, "a flag is of another type than the one asked for")
            return nil
        }
        if visitorExposed, visitor.flagship.options.exposurePolicy != .manual {
            visitor.expose(key, default: defaultValue)
        }
        return value
    }

    /// Reports that the visitor has seen the flag, with the default of the visitor's last read of it.
    public func visitorExposed() {
        guard let visitor else { return }
        visitor.reportOddExposure(of: key, isKnown: exists())
        visitor.expose(key, default: visitor.lastDefault(of: key))
    }

    /// Whether the vendor returned this flag, including as null.
    public func exists() -> Bool { resolution != nil }

    /// Returns the origin of the value, regardless of the requested type; empty for a missing flag.
    public func metadata() -> FlagshipFlagMetadata {
        resolution.map { FlagshipFlagMetadata($0.metadata) } ?? FlagshipFlagMetadata()
    }

    var resolution: Resolution? { visitor?.decisions[key] }
}

/// A visitor's flags: the set is fixed, the values are evaluated when they are read.
public struct FlagshipFlagCollection: Sendable, Sequence {
    private var entries: [ExactText: FlagshipFlag]

    init(keys: [String], visitor: FlagshipVisitor) {
        entries = Dictionary(keys.map { (ExactText($0), FlagshipFlag(key: $0, visitor: visitor)) }) { $1 }
    }

    private init(_ entries: [ExactText: FlagshipFlag]) { self.entries = entries }

    /// Returns a flag by its key; an unknown key has a flag that reads as its default and is never exposed.
    public subscript(key: String) -> FlagshipFlag {
        get { entries[ExactText(key)] ?? FlagshipFlag(key: key, visitor: nil) }
        set { entries[ExactText(key)] = newValue }
    }

    /// The keys, sorted.
    public func keys() -> [String] { entries.keys.map(\.text).sorted() }

    /// The metadata of all flags, in the order of ``keys()``.
    public func metadatas() -> [FlagshipFlagMetadata] { keys().map { self[$0].metadata() } }

    /// The number of flags.
    public var count: Int { entries.count }

    /// Whether there are none.
    public var isEmpty: Bool { entries.isEmpty }

    /// The flags in the order of ``keys()``.
    public func makeIterator() -> IndexingIterator<[(key: String, value: FlagshipFlag)]> {
        keys().map { (key: $0, value: self[$0]) }.makeIterator()
    }

    /// Returns the flags that satisfy a predicate.
    public func filter(_ isIncluded: (String, FlagshipFlag) throws -> Bool) rethrows -> FlagshipFlagCollection {
        FlagshipFlagCollection(try entries.filter { try isIncluded($0.key.text, $0.value) })
    }

    /// Reports that the visitor has seen all of them.
    public func exposeAll() { for (_, flag) in self { flag.visitorExposed() } }

    /// Returns the metadata of all flags as a JSON list, each with its key and, as `hex`, the hexadecimal bytes of
    /// `{"v":value}`; an empty string if there are none.
    public func toJson() -> String {
        let flags = compactMap { key, flag -> FlagValue? in
            guard let value = flag.resolution?.value, let text = try? JSON.text(["v": value]) else { return nil }
            var members = flag.metadata().toDictionary()
            members["key"] = .string(key)
            members["hex"] = .string(text.utf8.hexadecimal)
            return .object(members)
        }
        return flags.isEmpty ? "" : (try? JSON.text(.array(flags))) ?? ""
    }
}
