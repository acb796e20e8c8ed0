/// The stored rules of several vendors in one piece: each with its name, its validator and its own bytes.
struct RulesArchive: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        var validator: String?
        var raw: [UInt8]
    }

    var entries: [String: Entry] = [:]

    init() {}

    /// The bytes to store: of each field its length and itself; a validator that isn't there has the length -1.
    var written: [UInt8] {
        entries.sorted { $0.key < $1.key }.flatMap { name, entry in
            Self.field(Array(name.utf8)) + Self.field(entry.validator.map { Array($0.utf8) }) + Self.field(entry.raw)
        }
    }

    /// Reads what ``written`` gave.
    init?(written: [UInt8]) {
        var rest = written[...]
        while !rest.isEmpty {
            guard let name = Self.take(&rest), let validator = Self.take(&rest), let raw = Self.take(&rest),
                let name, let raw
            else { return nil }
            entries[String(decoding: name, as: UTF8.self)] = Entry(
                validator: validator.map { String(decoding: $0, as: UTF8.self) },
                raw: Array(raw)
            )
        }
    }

    private static func field(_ bytes: [UInt8]?) -> [UInt8] {
        let length = UInt64(bitPattern: Int64(bytes?.count ?? -1))
        return (0..<8).map { UInt8(truncatingIfNeeded: length >> (UInt64($0) * 8)) } + (bytes ?? [])
    }

    /// Takes a field off the front; `nil` if there is none, an inner `nil` if it is one that isn't there.
    private static func take(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>?? {
        guard rest.count >= 8 else { return .none }
        let length = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        rest = rest.dropFirst(8)
        if length == .max { return .some(nil) }
        guard length <= UInt64(rest.count) else { return .none }
        defer { rest = rest.dropFirst(Int(length)) }
        return .some(rest.prefix(Int(length)))
    }
}
