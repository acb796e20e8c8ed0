import Foundation

extension JSONWriter {
    /// An open list or object, and how much of it has been written.
    private struct Level {
        let isObject: Bool
        /// A list's values.
        var values: [FlagValue] = []
        /// An object's fields, in order.
        var fields: [(key: String, value: FlagValue)] = []
        var written = 0
    }

    /// Writes a value without recursion.
    ///
    /// - Throws: ``Refusal``, and what `JSONEncoder` throws for an object that is left to it.
    package mutating func value(_ value: FlagValue) throws {
        guard var innermost = try begin(value, depth: 0) else { return }
        var outer: [Level] = []
        while true {
            if let level = try fill(&innermost, depth: outer.count + 1) {
                outer.append(innermost)
                innermost = level
            } else {
                bytes.append(innermost.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
                guard let level = outer.popLast() else { return }
                innermost = level
            }
        }
    }

    /// Writes a level's values up to the first that opens another level, which is returned; `nil` once all are written.
    private mutating func fill(_ level: inout Level, depth: Int) throws -> Level? {
        let count = level.isObject ? level.fields.count : level.values.count
        while level.written < count {
            let index = level.written
            level.written += 1
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            if level.isObject {
                text(level.fields[index].key)
                bytes.append(UInt8(ascii: ":"))
            }
            let value = level.isObject ? level.fields[index].value : level.values[index]
            if let inner = try begin(value, depth: depth) { return inner }
        }
        return nil
    }

    /// Writes a scalar, or opens a list or object and returns it.
    private mutating func begin(_ value: FlagValue, depth: Int) throws -> Level? {
        switch value {
        case .null: raw("null")
        case .bool(let value): raw(value ? "true" : "false")
        case .int(let value): number(value)
        case .double(let value): try number(value)
        case .string(let value): text(value)
        case .array(let values):
            guard depth < deepest else { throw Refusal.tooDeep(deepest) }
            bytes.append(UInt8(ascii: "["))
            return Level(isObject: false, values: values)
        case .object(let fields):
            guard depth < deepest else { throw Refusal.tooDeep(deepest) }
            guard let fields = ordered(fields) else {
                bytes += try Self.encoder().encode(value)
                return nil
            }
            bytes.append(UInt8(ascii: "{"))
            return Level(isObject: true, fields: fields)
        }
        return nil
    }

    /// Sorts fields; `nil` if the order must be left to `JSONEncoder`.
    private func ordered(_ fields: [String: FlagValue]) -> [(key: String, value: FlagValue)]? {
        if fields.count < 2 { return Array(fields) }
        if fields.keys.allSatisfy({ $0.utf8.allSatisfy { $0 < 0x80 } }) {
            // Byte order, which is the strings' order here and quicker to compute.
            if leading.isEmpty { return fields.sorted { $0.key < $1.key } }
        } else if form == .asEncoder {
            return nil
        }
        var rest = fields
        let leaders = leading.compactMap { name in rest.removeValue(forKey: name).map { (key: name, value: $0) } }
        return leaders + rest.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }
}
