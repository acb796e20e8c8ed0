import Experimentation
import Foundation

/// JSON from outside, read strictly, and JSON of this library, written predictably.
///
/// Reading uses no recursion, limits nesting, refuses duplicate keys in an object, and accepts only the grammar of
/// RFC 8259: no trailing commas, no comments, no encoding other than UTF-8. Foundation's readers each differ from it,
/// and from each other (`docs/decisions/0020-json.md`).
public enum JSON {
    /// The maximum nesting of lists and objects, unless a call states another.
    public static let deepest = 64

    /// Reads a document.
    ///
    /// A number without a fraction or an exponent that fits into an `Int` becomes `FlagValue.int(_:)`; `-0` and every
    /// other number becomes the nearest `Double`. A number too large for that is an error.
    ///
    /// - Parameters:
    ///   - bytes: The document in UTF-8, with or without a byte order mark.
    ///   - deepest: The maximum depth of lists and objects around a value.
    /// - Returns: The value.
    /// - Throws: `ErrorCode.parseError` with line and column; never the text itself, which may be personal.
    public static func parse(
        _ bytes: [UInt8],
        deepest: Int = JSON.deepest
    ) throws(ExperimentationError) -> FlagValue {
        try read(bytes, deepest: deepest, builds: true)
    }

    /// Reads a document.
    public static func parse(_ data: Data, deepest: Int = JSON.deepest) throws(ExperimentationError) -> FlagValue {
        try parse([UInt8](data), deepest: deepest)
    }

    /// Reads a document.
    public static func parse(_ text: String, deepest: Int = JSON.deepest) throws(ExperimentationError) -> FlagValue {
        try parse(Array(text.utf8), deepest: deepest)
    }

    /// Checks that a document is well formed, not too deep and without duplicate keys, without building its value.
    ///
    /// - Throws: `ErrorCode.parseError`, as for reading bytes.
    public static func check(_ bytes: [UInt8], deepest: Int = JSON.deepest) throws(ExperimentationError) {
        _ = try read(bytes, deepest: deepest, builds: false)
    }

    private static func read(
        _ bytes: [UInt8],
        deepest: Int,
        builds: Bool
    ) throws(ExperimentationError) -> FlagValue {
        do throws(JSONFault) {
            return try JSONParser.document(bytes, deepest: deepest, builds: builds)
        } catch {
            throw ExperimentationError(.parseError, error.message)
        }
    }

    /// Checks a document and decodes it.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - bytes: The document in UTF-8.
    ///   - deepest: The maximum depth of lists and objects around a value.
    /// - Returns: The decoded value.
    /// - Throws: `ErrorCode.parseError`, naming the key and what was expected; never a value.
    public static func decode<Value: Decodable>(
        _ type: Value.Type,
        from bytes: [UInt8],
        deepest: Int = JSON.deepest
    ) throws(ExperimentationError) -> Value {
        try check(bytes, deepest: deepest)
        do { return try JSONDecoder().decode(type, from: Data(bytes)) } catch {
            throw ExperimentationError(.parseError, sentence(for: error), cause: nil)
        }
    }

    /// Checks a document and decodes it.
    public static func decode<Value: Decodable>(
        _ type: Value.Type,
        from data: Data,
        deepest: Int = JSON.deepest
    ) throws(ExperimentationError) -> Value {
        try decode(type, from: [UInt8](data), deepest: deepest)
    }

    /// The order of an object's names.
    public enum KeyOrder: Sendable, Hashable {
        /// By their UTF-8 bytes.
        case sorted
        /// These names first, in this order, at every depth; then the rest, sorted.
        case first([String])

        fileprivate var leading: [String] {
            if case .first(let names) = self { names } else { [] }
        }
    }

    /// Writes a value compactly, with the keys of objects in a fixed order.
    ///
    /// A `Double` is written with the fewest digits that read back as the same number, and keeps a fraction (`100.0`),
    /// so that it reads back as a `Double`. Only characters that must be escaped are; `/` isn't.
    ///
    /// - Throws: `ErrorCode.invalidArgument` for a number that is infinite or not a number, and for a value nested
    ///   deeper than `deepest`.
    public static func encode(
        _ value: FlagValue,
        order: KeyOrder = .sorted,
        deepest: Int = JSON.deepest
    ) throws(ExperimentationError) -> [UInt8] {
        var writer = JSONWriter(.exact, leading: order.leading, deepest: deepest)
        do { try writer.value(value) } catch { throw ExperimentationError(.invalidArgument, sentence(for: error)) }
        return writer.bytes
    }

    /// Writes a value as ``encode(_:order:deepest:)`` does, as a string with sorted keys.
    package static func text(_ value: FlagValue) throws(ExperimentationError) -> String {
        String(decoding: try encode(value), as: UTF8.self)
    }

    /// Writes a value of a custom type, with sorted keys and unescaped slashes.
    ///
    /// Foundation's encoder recurses, so measure a caller's values with `FlagValue.depth(upTo:)` first.
    ///
    /// - Throws: `ErrorCode.invalidArgument`, naming the key; never a value.
    public static func encode(_ value: some Encodable) throws(ExperimentationError) -> [UInt8] {
        do { return [UInt8](try JSONWriter.encoder().encode(value)) } catch {
            throw ExperimentationError(.invalidArgument, sentence(for: error), cause: nil)
        }
    }

    /// Names the coding path and what was expected.
    ///
    /// Foundation's own messages repeat values.
    private static func sentence(for error: any Error) -> String {
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            "\(place(context.codingPath)): \"\(key.stringValue)\" is missing"
        case DecodingError.typeMismatch(let type, let context):
            "\(place(context.codingPath)): not of the type \(type)"
        case DecodingError.valueNotFound(let type, let context):
            "\(place(context.codingPath)): null where a value of the type \(type) is expected"
        case DecodingError.dataCorrupted(let context):
            "\(place(context.codingPath)): a value that isn't allowed here"
        case EncodingError.invalidValue(_, let context):
            "\(place(context.codingPath)): a value that can't be written as JSON"
        case let error as ExperimentationError:
            error.message
        case let refusal as JSONWriter.Refusal:
            refusal.message
        default:
            "the document can't be read as \(type(of: error))"
        }
    }

    private static func place(_ path: [any CodingKey]) -> String {
        let text = path.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }.joined()
        return text.isEmpty ? "the document" : text.hasPrefix(".") ? String(text.dropFirst()) : text
    }
}
