import ConformanceKit
import Experimentation

/// A parsed document with the line of every key, so that errors can name the place.
public struct SourceDocument: Sendable, Hashable {
    /// The document's name for messages, usually a file path.
    public var name: String
    /// The content.
    public var value: FlagValue
    /// The line of each value, counting from 1, by paths such as `steps[2].read`.
    public var lines: [String: Int]

    /// The maximum depth of nesting.
    public static let deepest = 64
    /// The maximum size, in bytes.
    public static let largest = 4 << 20

    /// Creates a document.
    public init(name: String, value: FlagValue, lines: [String: Int] = [:]) {
        self.name = name
        self.value = value
        self.lines = lines
    }

    /// Parses JSON.
    ///
    /// Rejects what `JSONDecoder` accepts: duplicate keys and numbers that aren't finite.
    ///
    /// - Parameters:
    ///   - json: The JSON in UTF-8.
    ///   - name: The document's name, for errors.
    /// - Throws: An error that names the document, the line and what was expected there.
    public init(json: some Sequence<UInt8>, name: String) throws(DocumentError) {
        var parser = JSONText(bytes: Array(json), name: name)
        let value = try parser.document()
        self.init(name: name, value: value, lines: parser.lines)
    }

    /// Adds the line to an error about a path in this document.
    ///
    /// A missing key has no line, so its object's is used.
    public func locating(_ error: DocumentError) -> DocumentError {
        guard error.document == name else { return error }
        var path = Substring(error.path)
        while true {
            if let line = lines[String(path)] {
                return DocumentError(document: "\(name):\(line)", path: error.path, problem: error.problem)
            }
            guard !path.isEmpty else { return error }
            let end = path.lastIndex { $0 == "." || $0 == "[" }
            path = end.map { path[..<$0] } ?? ""
        }
    }

    /// Reads from the document, adding lines to errors.
    public func read<Value>(
        _ body: (inout DocumentReader) throws(DocumentError) -> Value
    ) throws(DocumentError) -> Value {
        do {
            var reader = try DocumentReader(value, named: name)
            let result = try body(&reader)
            try reader.finish()
            return result
        } catch {
            throw locating(error)
        }
    }
}
