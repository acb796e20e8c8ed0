/// Reads JSON documents without recursion: nesting takes no stack, however deep it is.
package struct JSONParser {
    /// An open list or object.
    private struct Level {
        let isObject: Bool
        /// Where its entries begin in ``entries``.
        let start: Int
        /// Whether its fields are the last of ``largeObjects``, and only the one being read is in ``entries``.
        var isLarge = false
    }

    /// A value of a list, without a name, or of an object.
    private struct Entry {
        var name = ""
        var value = FlagValue.null
    }

    private var lexer: JSONLexer
    private let deepest: Int
    /// Whether to build values; if not, they are only checked.
    private let builds: Bool
    /// The open lists and objects, innermost last.
    private var levels: [Level] = []
    /// The entries read so far of all open lists and objects, the innermost's last.
    private var entries: [Entry] = []
    /// The fields of open objects that have too many for a linear search of their names.
    private var largeObjects: [[String: FlagValue]] = []

    private init(_ bytes: UnsafeBufferPointer<UInt8>, deepest: Int, builds: Bool) {
        lexer = JSONLexer(bytes)
        self.deepest = deepest
        self.builds = builds
    }

    /// Reads a whole document, with or without a byte order mark.
    ///
    /// A number becomes an ``FlagValue/int(_:)`` if it is written as digits alone and fits; every other number,
    /// including `-0`, becomes the nearest `Double`.
    ///
    /// - Parameters:
    ///   - bytes: The document.
    ///   - deepest: The maximum depth of lists and objects around a value.
    ///   - builds: Whether to build the value; if not, the document is only checked.
    /// - Returns: The value if it is built; otherwise a meaningless one.
    /// - Throws: The first fault in the document.
    package static func document(_ bytes: [UInt8], deepest: Int, builds: Bool = true) throws(JSONFault) -> FlagValue {
        try bytes.withUnsafeBufferPointer { bytes throws(JSONFault) in
            var parser = JSONParser(bytes, deepest: deepest, builds: builds)
            return try parser.document()
        }
    }

    private mutating func document() throws(JSONFault) -> FlagValue {
        lexer.skipByteOrderMark()
        lexer.skipSpace()
        while true {
            // A value begins here.
            guard let value = try beginValue(), let whole = try finish(value) else { continue }
            lexer.skipSpace()
            guard lexer.isAtEnd else { throw lexer.fault("something follows the document") }
            return whole
        }
    }

    /// Reads a scalar or an empty container whole, or opens a container up to its first value and returns `nil`.
    private mutating func beginValue() throws(JSONFault) -> FlagValue? {
        switch lexer.current {
        case UInt8(ascii: "{"):
            try open(isObject: true)
            if lexer.take(UInt8(ascii: "}")) { return close() }
            try name()
            return nil
        case UInt8(ascii: "["):
            try open(isObject: false)
            if lexer.take(UInt8(ascii: "]")) { return close() }
            return nil
        case UInt8(ascii: "\""): return .string(try lexer.text())
        case UInt8(ascii: "t") where lexer.take(exactly: "true"): return .bool(true)
        case UInt8(ascii: "f") where lexer.take(exactly: "false"): return .bool(false)
        case UInt8(ascii: "n") where lexer.take(exactly: "null"): return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return FlagValue(try lexer.number())
        default: throw lexer.fault("expected a value")
        }
    }

    private mutating func open(isObject: Bool) throws(JSONFault) {
        guard levels.count < deepest else { throw lexer.fault("more than \(deepest) levels of nesting") }
        lexer.position += 1
        lexer.skipSpace()
        levels.append(Level(isObject: isObject, start: entries.count))
    }

    /// Pops the innermost level and returns it as one value.
    private mutating func close() -> FlagValue {
        guard let level = levels.popLast() else { return .null }
        let count = entries.count - level.start
        if level.isLarge || !builds {
            entries.removeLast(count)
            return level.isLarge ? .object(largeObjects.removeLast()) : .null
        }
        // Removing them one by one from the end copies nothing.
        if level.isObject {
            var fields: [String: FlagValue] = Dictionary(minimumCapacity: count)
            while entries.count > level.start {
                let entry = entries.removeLast()
                fields.updateValue(entry.value, forKey: entry.name)
            }
            return .object(fields)
        }
        let values = [FlagValue](unsafeUninitializedCapacity: count) { values, filled in
            for index in (0..<count).reversed() {
                values.initializeElement(at: index, to: entries.removeLast().value)
            }
            filled = count
        }
        return .array(values)
    }

    /// Reads the name of the next field of an object.
    private mutating func name() throws(JSONFault) {
        guard lexer.current == UInt8(ascii: "\"") else { throw lexer.fault("expected a name in quotes") }
        let name = try lexer.text()
        guard begin(name) else { throw lexer.fault("a name that appears twice in one object") }
        lexer.skipSpace()
        guard lexer.take(UInt8(ascii: ":")) else { throw lexer.fault("expected a colon") }
    }

    /// Begins the next field of the innermost object, unless it already has one of this name.
    ///
    /// Names that are canonically equivalent in Unicode are the same key of a dictionary, so they count as equal here.
    private mutating func begin(_ name: String) -> Bool {
        let top = levels.count - 1
        let start = levels[top].start
        if levels[top].isLarge {
            entries[start].name = name
            return largeObjects[largeObjects.count - 1].updateValue(.null, forKey: name) == nil
        }
        for index in start..<entries.count where entries[index].name == name { return false }
        if entries.count - start == 8 {
            var fields: [String: FlagValue] = Dictionary(minimumCapacity: 16)
            fields[name] = .null
            while entries.count > start {
                let entry = entries.removeLast()
                fields[entry.name] = entry.value
            }
            largeObjects.append(fields)
            levels[top].isLarge = true
        }
        entries.append(Entry(name: name))
        return true
    }

    /// Adds a finished value to its container, and closes the containers that end there; returns the outermost value
    /// once it is complete, and `nil` if another value follows.
    private mutating func finish(_ finished: FlagValue) throws(JSONFault) -> FlagValue? {
        var value = finished
        while let level = levels.last {
            let isObject = level.isObject
            if builds { put(value, into: level) }
            lexer.skipSpace()
            if lexer.take(UInt8(ascii: ",")) {
                if isObject { try name() }
                return nil
            }
            guard lexer.take(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw lexer.fault(isObject ? "expected a comma or }" : "expected a comma or ]")
            }
            value = close()
        }
        return value
    }

    private mutating func put(_ value: FlagValue, into level: Level) {
        if level.isLarge {
            largeObjects[largeObjects.count - 1][entries[level.start].name] = value
        } else if level.isObject {
            entries[entries.count - 1].value = value
        } else {
            entries.append(Entry(value: value))
        }
    }
}

extension FlagValue {
    fileprivate init(_ number: JSONNumber) {
        switch number {
        case .whole(let number): self = .int(number)
        case .decimal(let number), .other(let number): self = .double(number)
        }
    }
}
