import ConformanceKit
import Experimentation

/// A document that people wrote, as a value, with the line of every key: so that an error can say where it is.
public struct SourceDocument: Sendable, Hashable {
    /// The document's name for a person; a file's path, mostly.
    public var name: String
    /// What the document says.
    public var value: FlagValue
    /// The line of each place in ``value``, counting from 1, by its path as `steps[2].read`.
    public var lines: [String: Int]

    /// How deep a document may be nested.
    public static let deepest = 64
    /// How many bytes a document may have.
    public static let largest = 4 << 20

    /// Creates a document.
    public init(name: String, value: FlagValue, lines: [String: Int] = [:]) {
        self.name = name
        self.value = value
        self.lines = lines
    }

    /// Parses JSON.
    ///
    /// Refuses what `JSONDecoder` lets pass: a key that is there twice and numbers that aren't finite.
    ///
    /// - Parameters:
    ///   - json: The text in UTF-8.
    ///   - name: The document's name, for errors.
    /// - Throws: An error that names the document, the line and what was expected there.
    public init(json: some Sequence<UInt8>, name: String) throws(DocumentError) {
        var parser = JSONText(bytes: Array(json), name: name)
        let value = try parser.document()
        self.init(name: name, value: value, lines: parser.lines)
    }

    /// Adds the line to an error that names a place in this document.
    ///
    /// A key that is missing has no line; its object's is named then.
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

    /// Reads something from the document, with lines in the errors.
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
