import Experimentation
import Foundation

/// Why a document can't be used: the place, and what was expected there.
public struct DocumentError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The document's name for messages, usually a file path.
    public var document: String
    /// The path within it, such as `flags[2].value`; empty for the root.
    public var path: String
    /// What was expected, and what was found.
    public var problem: String

    /// Creates an error.
    public init(document: String, path: String, problem: String) {
        self.document = document
        self.path = path
        self.problem = problem
    }

    /// The document, the path and the problem in one line.
    public var description: String {
        path.isEmpty ? "\(document): \(problem)" : "\(document): \(path): \(problem)"
    }
}

/// Reads an object of a document key by key, and rejects unknown keys.
///
/// ```swift
/// var reader = try DocumentReader(document, named: "world.json")
/// let name = try reader.string("name")
/// try reader.finish()
/// ```
public struct DocumentReader {
    /// The document's name.
    public let document: String
    /// The path of this object.
    public let path: String
    private let members: [String: FlagValue]
    private var read: Set<String> = []

    /// Opens the object at a path.
    ///
    /// - Throws: When the value isn't an object.
    public init(_ value: FlagValue, named document: String, at path: String = "") throws(DocumentError) {
        self.document = document
        self.path = path
        guard case .object(let members) = value else {
            throw DocumentError(
                document: document,
                path: path,
                problem: "expected an object, found \(Self.described(value))"
            )
        }
        self.members = members
    }

    /// Parses JSON and opens its object.
    ///
    /// - Parameters:
    ///   - json: The JSON in UTF-8; at most 64 levels deep.
    ///   - document: The document's name, for errors.
    /// - Throws: When it isn't valid JSON, or not an object.
    public init(json: some Sequence<UInt8>, named document: String) throws(DocumentError) {
        try self.init(try Self.parse(json, named: document), named: document)
    }

    /// Parses any JSON value.
    public static func parse(
        _ json: some Sequence<UInt8>,
        named document: String
    ) throws(DocumentError) -> FlagValue {
        let bytes = Array(json)
        func refused(_ problem: String) -> DocumentError {
            DocumentError(document: document, path: "", problem: problem)
        }
        guard bytes.contains(where: { $0 > 0x20 }) else { throw refused("is empty; expected a JSON object") }
        guard depth(of: bytes) <= 64 else { throw refused("is nested more than 64 levels deep") }
        do {
            return try JSONDecoder().decode(FlagValue.self, from: Data(bytes))
        } catch {
            throw refused("is not complete, valid JSON")
        }
    }

    // Checked before decoding: a decoder recurses, so a hostile document could overflow the stack.
    private static func depth(of bytes: [UInt8]) -> Int {
        var depth = 0
        var deepest = 0
        var isInText = false
        var isEscaped = false
        for byte in bytes {
            if isEscaped {
                isEscaped = false
            } else if isInText {
                if byte == UInt8(ascii: "\\") { isEscaped = true }
                if byte == UInt8(ascii: "\"") { isInText = false }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInText = true
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth += 1
                    deepest = max(deepest, depth)
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                default: continue
                }
            }
        }
        return deepest
    }

    // MARK: Members

    /// Whether a key exists and isn't null.
    public func has(_ key: String) -> Bool { members[key] != nil && members[key] != .null }

    /// Returns the value of a key unchanged; `FlagValue.null` if it is missing.
    public mutating func value(_ key: String) -> FlagValue {
        read.insert(key)
        return members[key] ?? .null
    }

    /// Returns the string of a key.
    public mutating func string(_ key: String) throws(DocumentError) -> String {
        guard let text = value(key).stringValue else { throw wrong(key, expected: "a text") }
        return text
    }

    /// Returns the string of a key; `nil` if it is missing.
    public mutating func optionalString(_ key: String) throws(DocumentError) -> String? {
        guard has(key) else { return skipped(key) }
        return try string(key)
    }

    /// Returns the nonempty string of a key.
    public mutating func name(_ key: String) throws(DocumentError) -> String {
        let text = try string(key)
        guard !text.isEmpty else { throw wrong(key, expected: "a text that is not empty") }
        return text
    }

    /// Returns the Boolean of a key; the default if it is missing.
    public mutating func bool(_ key: String, default fallback: Bool) throws(DocumentError) -> Bool {
        guard has(key) else { return skipped(key) ?? fallback }
        guard let flag = value(key).boolValue else { throw wrong(key, expected: "true or false") }
        return flag
    }

    /// Returns the integer of a key, within a range.
    public mutating func int(_ key: String, in range: ClosedRange<Int> = 0...Int.max) throws(DocumentError) -> Int {
        guard let number = value(key).intValue, range.contains(number) else {
            let limit =
                range.upperBound == .max
                ? "from \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
            throw wrong(key, expected: "a whole number \(limit)")
        }
        return number
    }

    /// Returns the integer of a key, within a range; `nil` if it is missing.
    public mutating func optionalInt(
        _ key: String,
        in range: ClosedRange<Int> = 0...Int.max
    ) throws(DocumentError) -> Int? {
        guard has(key) else { return skipped(key) }
        return try int(key, in: range)
    }

    /// Returns the number of a key; `nil` if it is missing.
    public mutating func optionalDouble(_ key: String) throws(DocumentError) -> Double? {
        guard has(key) else { return skipped(key) }
        let value = value(key)
        guard let number = value.doubleValue, number.isFinite else {
            let isWhole = value.intValue != nil
            throw wrong(key, expected: isWhole ? "a number of no more than 53 bits" : "a number")
        }
        return number
    }

    /// Returns one of the allowed words; the default if the key is missing.
    public mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String,
        default fallback: Choice? = nil
    ) throws(DocumentError) -> Choice where Choice.RawValue == String {
        if !has(key), let fallback { return skipped(key) ?? fallback }
        guard let word = value(key).stringValue, let choice = Choice(rawValue: word) else {
            throw wrong(key, expected: "one of " + Choice.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return choice
    }

    /// Returns the strings of an array; empty if the key is missing.
    public mutating func strings(_ key: String) throws(DocumentError) -> [String] {
        guard has(key) else { return skipped(key) ?? [] }
        guard let list = value(key).arrayValue else { throw wrong(key, expected: "a list of texts") }
        var texts: [String] = []
        for (index, element) in list.enumerated() {
            guard let text = element.stringValue else { throw wrong("\(key)[\(index)]", expected: "a text") }
            texts.append(text)
        }
        return texts
    }

    /// Returns the strings of an object; empty if the key is missing.
    public mutating func texts(_ key: String) throws(DocumentError) -> [String: String] {
        var texts: [String: String] = [:]
        for (name, value) in try object(key) {
            guard let text = value.stringValue else { throw wrong("\(key).\(name)", expected: "a text") }
            texts[name] = text
        }
        return texts
    }

    /// Returns the members of an object; empty if the key is missing.
    public mutating func object(_ key: String) throws(DocumentError) -> [String: FlagValue] {
        guard has(key) else { return skipped(key) ?? [:] }
        guard let object = value(key).objectValue else { throw wrong(key, expected: "an object") }
        return object
    }

    /// Opens the object of a key.
    public mutating func reader(_ key: String) throws(DocumentError) -> DocumentReader {
        try DocumentReader(value(key), named: document, at: place(key))
    }

    /// Reads each object of an array; none if the key is missing.
    ///
    /// Rejects keys that the closure doesn't read.
    public mutating func each<Element>(
        _ key: String,
        _ read: (inout DocumentReader) throws(DocumentError) -> Element
    ) throws(DocumentError) -> [Element] {
        guard has(key) else { return skipped(key) ?? [] }
        guard let list = value(key).arrayValue else { throw wrong(key, expected: "a list") }
        var elements: [Element] = []
        for (index, value) in list.enumerated() {
            var reader = try DocumentReader(value, named: document, at: place("\(key)[\(index)]"))
            elements.append(try read(&reader))
            try reader.finish()
        }
        return elements
    }

    /// Decodes the value of a key as a `Decodable` type.
    public mutating func decode<Value: Decodable>(
        _ type: Value.Type,
        _ key: String,
        expected: String
    ) throws(DocumentError) -> Value {
        let value = value(key)
        do {
            return try JSONDecoder().decode(type, from: JSONEncoder().encode(value))
        } catch let DecodingError.keyNotFound(missing, _) {
            throw wrong(key, expected: "\(expected), which needs \"\(missing.stringValue)\"")
        } catch let DecodingError.dataCorrupted(context) where !context.debugDescription.isEmpty {
            throw wrong(key, expected: "\(expected) (\(context.debugDescription))")
        } catch {
            throw wrong(key, expected: expected)
        }
    }

    /// Rejects the keys that weren't read.
    public func finish() throws(DocumentError) {
        guard let stranger = members.keys.filter({ !read.contains($0) }).min() else { return }
        throw DocumentError(
            document: document,
            path: place(stranger),
            problem: "unknown key; known here are " + read.sorted().joined(separator: ", ")
        )
    }

    // MARK: Errors

    /// Creates an error for a key that says what was expected and what was found.
    public func wrong(_ key: String, expected: String) -> DocumentError {
        let found =
            members[key].map { ", found \(Self.described($0))" }
            ?? (key.contains("[") || key.contains(".") ? "" : ", found nothing")
        return DocumentError(document: document, path: place(key), problem: "expected \(expected)\(found)")
    }

    /// Creates an error for a key with a custom message.
    public func error(_ key: String, _ problem: String) -> DocumentError {
        DocumentError(document: document, path: place(key), problem: problem)
    }

    private func place(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    private mutating func skipped<Value>(_ key: String) -> Value? {
        read.insert(key)
        return nil
    }

    /// Describes a value for errors, by its type or as written.
    public static func described(_ value: FlagValue) -> String {
        switch value {
        case .null: "null"
        case .bool(let value): String(value)
        case .int(let value): String(value)
        case .double(let value): String(value)
        case .string(let value): value.count > 40 ? "a text" : "\"\(value)\""
        case .array: "a list"
        case .object: "an object"
        }
    }
}
