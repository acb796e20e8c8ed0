import Experimentation

/// Reads one JSON document from bytes, without recursion.
struct JSONParser {
    /// An open list or object.
    private struct Level {
        var isObject: Bool
        var values: [FlagValue] = []
        var fields: [String: FlagValue] = [:]
        var keys: Set<String> = []
        var key = ""
    }

    private var lexer: JSONLexer
    private var levels: [Level] = []
    private let deepest: Int
    /// Whether values are built; if not, they are only checked.
    private let builds: Bool

    init(_ bytes: UnsafeBufferPointer<UInt8>, deepest: Int, builds: Bool) {
        lexer = JSONLexer(bytes)
        self.deepest = deepest
        self.builds = builds
        levels.reserveCapacity(16)
    }

    /// Reads the whole document.
    mutating func document() throws(ExperimentationError) -> FlagValue {
        lexer.skipByteOrderMark()
        lexer.skipSpace()
        while true {
            // Here a value begins.
            if let value = try beginValue() {
                if let whole = try finish(value) { return try end(whole) }
            }
        }
    }

    /// Reads a scalar or an empty container whole, or opens a container up to its first value and returns `nil`.
    private mutating func beginValue() throws(ExperimentationError) -> FlagValue? {
        switch lexer.current {
        case UInt8(ascii: "{"):
            try open(isObject: true)
            if lexer.take(UInt8(ascii: "}")) {
                levels.removeLast()
                return .object([:])
            }
            try key()
            return nil
        case UInt8(ascii: "["):
            try open(isObject: false)
            if lexer.take(UInt8(ascii: "]")) {
                levels.removeLast()
                return .array([])
            }
            return nil
        case UInt8(ascii: "\""):
            return .string(try lexer.string())
        default:
            return try lexer.scalar()
        }
    }

    private mutating func open(isObject: Bool) throws(ExperimentationError) {
        guard levels.count < deepest else { throw lexer.error("more than \(deepest) levels of nesting") }
        lexer.advance()
        lexer.skipSpace()
        levels.append(Level(isObject: isObject))
    }

    private mutating func key() throws(ExperimentationError) {
        guard lexer.current == UInt8(ascii: "\"") else { throw lexer.error("expected a name in quotes") }
        let key = try lexer.string()
        let top = levels.count - 1
        // Names that Unicode calls equal are the same name to a dictionary, so they count as equal here.
        let isNew = builds ? levels[top].fields[key] == nil : levels[top].keys.insert(key).inserted
        guard isNew else { throw lexer.error("a name that stands twice in one object") }
        levels[top].key = key
        lexer.skipSpace()
        guard lexer.take(UInt8(ascii: ":")) else { throw lexer.error("expected a colon") }
    }

    /// Puts a finished value into what surrounds it, closing what ends there; returns the outermost value when it is
    /// complete, and `nil` when another value follows.
    private mutating func finish(_ finished: FlagValue) throws(ExperimentationError) -> FlagValue? {
        var value = finished
        while !levels.isEmpty {
            let top = levels.count - 1
            let isObject = levels[top].isObject
            if builds {
                if isObject {
                    levels[top].fields[levels[top].key] = value
                } else {
                    levels[top].values.append(value)
                }
            }
            lexer.skipSpace()
            if lexer.take(UInt8(ascii: ",")) {
                if isObject { try key() }
                return nil
            }
            guard lexer.take(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw lexer.error(isObject ? "expected a comma or }" : "expected a comma or ]")
            }
            let level = levels.removeLast()
            value = isObject ? .object(level.fields) : .array(level.values)
        }
        return value
    }

    private mutating func end(_ value: FlagValue) throws(ExperimentationError) -> FlagValue {
        lexer.skipSpace()
        guard lexer.isAtEnd else { throw lexer.error("something follows the document") }
        return value
    }
}
