import Experimentation

extension FlagManifest {
    /// The maximum nesting depth of a manifest.
    private static let deepest = 64

    /// Reads a manifest.
    ///
    /// - Parameters:
    ///   - json: The file's bytes.
    ///   - file: Its name, for messages.
    /// - Throws: `ErrorCode.configuration` in one line, with file, line, key and what was expected.
    public init(json: [UInt8], file: String) throws(ExperimentationError) {
        let document: FlagValue
        let lines: [String: Int]
        do throws(JSONFault) {
            document = try JSONParser.document(json, deepest: Self.deepest)
            lines = try ManifestLines.ofFlags(json)
        } catch {
            throw ExperimentationError(.configuration, "\(file):\(error.line): \(error.reason)")
        }
        guard let members = document.objectValue else {
            throw ExperimentationError(.configuration, "\(file):1: expected an object with \"flags\"")
        }
        guard let flags = members["flags"]?.objectValue else {
            throw ExperimentationError(.configuration, "\(file):1: \"flags\": missing or not an object of flags by key")
        }
        var found: [Flag] = []
        for (key, value) in flags {
            let line = lines[key] ?? 1
            do throws(ExperimentationError) {
                found.append(try Flag(key, value, line: line))
            } catch {
                throw ExperimentationError(.configuration, "\(file):\(line): \(error.message)")
            }
        }
        self.init(found)
    }
}

extension FlagManifest.Flag {
    fileprivate init(_ key: String, _ value: FlagValue, line: Int) throws(ExperimentationError) {
        func fault(_ message: String) -> ExperimentationError {
            ExperimentationError(.configuration, "flag \"\(key.shortened)\": \(message)")
        }
        guard !key.isEmpty else { throw ExperimentationError(.configuration, "a flag's key is empty") }
        guard let members = value.objectValue else { throw fault("expected an object") }
        guard let name = members["flagType"]?.stringValue, let type = FlagType(named: name) else {
            throw fault("\"flagType\": expected one of \(FlagType.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        guard let defaultValue = members["defaultValue"] else { throw fault("\"defaultValue\": missing") }
        guard type.holds(defaultValue) else { throw fault("\"defaultValue\": isn't of type \(type.rawValue)") }
        var shape: ObjectShape?
        if type == .object, let schema = members["schema"] {
            do throws(ExperimentationError) {
                shape = try ObjectShape(schema, at: "\"schema\"")
            } catch {
                throw fault(error.message)
            }
            if let mismatch = shape?.mismatch(of: defaultValue, at: "\"defaultValue\"") { throw fault(mismatch) }
        }
        self.init(
            key,
            type,
            default: defaultValue,
            description: members["description"]?.stringValue ?? "",
            shape: shape,
            line: line
        )
    }
}

extension String {
    /// The text, truncated for a message.
    var shortened: String { count > 60 ? prefix(60) + "…" : self }
}

/// Finds the lines of flags in a document that is known to be well formed.
enum ManifestLines {
    private struct Container {
        var isObject: Bool
        var key = ""
    }

    /// Returns the line of each key in the root's `flags`.
    static func ofFlags(_ json: [UInt8]) throws(JSONFault) -> [String: Int] {
        try json.withUnsafeBufferPointer { bytes throws(JSONFault) in
            var lexer = JSONLexer(bytes)
            var lines: [String: Int] = [:]
            var line = LineCount()
            var open: [Container] = []
            lexer.skipByteOrderMark()
            lexer.skipSpace()
            while !lexer.isAtEnd {
                let place = lexer.place
                switch lexer.current {
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    open.append(Container(isObject: lexer.current == UInt8(ascii: "{")))
                    lexer.skip()
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    open.removeLast()
                    lexer.skip()
                case UInt8(ascii: ","), UInt8(ascii: ":"):
                    lexer.skip()
                case UInt8(ascii: "\""):
                    let text = try lexer.text()
                    lexer.skipSpace()
                    guard lexer.current == UInt8(ascii: ":"), open.last?.isObject == true else { continue }
                    if open.count == 2, open[0].key == "flags" { lines[text] = line.at(place, of: bytes) }
                    open[open.count - 1].key = text
                default:
                    lexer.skip()
                }
                lexer.skipSpace()
            }
            return lines
        }
    }
}

/// Counts lines while moving forward through a text.
private struct LineCount {
    private var place = 0
    private var line = 1

    /// Returns the line of a position that isn't before the previous one.
    mutating func at(_ place: Int, of bytes: UnsafeBufferPointer<UInt8>) -> Int {
        line += bytes[self.place..<place].count { $0 == 0x0A }
        self.place = place
        return line
    }
}
