// Synthesized conformances for nested values recurse once per level: a value nested ten thousand times would end the
// process; on a thread with half a megabyte of stack, so would one nested a few hundred times. Nothing here recurses
// further than a few levels.

extension FlagValue: Hashable {
    /// The maximum depth at which a value can be encoded.
    package static let deepestWritten = 128

    /// Compares by kind and value; an integer never equals a floating-point number.
    public static func == (one: FlagValue, other: FlagValue) -> Bool {
        if let isEqual = areEqualScalars(one, other) { return isEqual }
        var pairs = [(one, other)]
        while let (one, other) = pairs.popLast() {
            switch (one, other) {
            case (.array(let one), .array(let other)):
                guard one.count == other.count else { return false }
                for (one, other) in zip(one, other) {
                    switch areEqualScalars(one, other) {
                    case false?: return false
                    case true?: continue
                    case nil: pairs.append((one, other))
                    }
                }
            case (.object(let one), .object(let other)):
                guard one.count == other.count else { return false }
                for (key, value) in one {
                    guard let counterpart = other[key] else { return false }
                    switch areEqualScalars(value, counterpart) {
                    case false?: return false
                    case true?: continue
                    case nil: pairs.append((value, counterpart))
                    }
                }
            default: return false
            }
        }
        return true
    }

    /// Whether two values are equal; `nil` if both are lists, or both are objects.
    private static func areEqualScalars(_ one: FlagValue, _ other: FlagValue) -> Bool? {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.int(let one), .int(let other)): one == other
        case (.double(let one), .double(let other)): one == other
        case (.string(let one), .string(let other)): one == other
        case (.array, .array), (.object, .object): nil
        default: false
        }
    }

    /// Hashes the kind and the value; of nested values only the outermost levels count.
    public func hash(into hasher: inout Hasher) { hash(into: &hasher, levels: 4) }

    private func hash(into hasher: inout Hasher, levels: Int) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value):
            hasher.combine(1)
            hasher.combine(value)
        case .int(let value):
            hasher.combine(2)
            hasher.combine(value)
        case .double(let value):
            hasher.combine(3)
            hasher.combine(value)
        case .string(let value):
            hasher.combine(4)
            hasher.combine(value)
        case .array(let values):
            hasher.combine(5)
            hasher.combine(values.count)
            guard levels > 0 else { return }
            for value in values { value.hash(into: &hasher, levels: levels - 1) }
        case .object(let fields):
            hasher.combine(6)
            hasher.combine(fields.count)
            guard levels > 0 else { return }
            // Objects have no order, so their fields' hashes are combined by a commutative operation.
            var sum = 0
            for (key, value) in fields {
                var inner = Hasher()
                inner.combine(key)
                value.hash(into: &inner, levels: levels - 1)
                sum ^= inner.finalize()
            }
            hasher.combine(sum)
        }
    }
}

extension FlagValue: CustomStringConvertible {
    /// The value in a JSON-like form with sorted names, for people; deeply nested values are left out.
    public var description: String { description(levels: 32) }

    private func description(levels: Int) -> String {
        switch self {
        case .null: return "null"
        case .bool(let value): return String(value)
        case .int(let value): return String(value)
        case .double(let value): return String(value)
        case .string(let value): return "\"\(value)\""
        case .array(let values):
            guard levels > 0 else { return "[…]" }
            return "[" + values.map { $0.description(levels: levels - 1) }.joined(separator: ", ") + "]"
        case .object(let fields):
            guard levels > 0 else { return "{…}" }
            let parts = fields.sorted { $0.key < $1.key }
                .map { "\"\($0.key)\": \($0.value.description(levels: levels - 1))" }
            return "{" + parts.joined(separator: ", ") + "}"
        }
    }
}
