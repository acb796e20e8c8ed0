/// The rules of several vendors as one value for the store: name, validator and bytes of each.
struct RulesArchive: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        var validator: String?
        var raw: [UInt8]
    }

    var entries: [String: Entry] = [:]

    init() {}

    /// The encoded archive: each field as length and bytes; a missing validator has the length -1.
    var written: [UInt8] {
        entries.sorted { $0.key < $1.key }.flatMap { name, entry in
            Self.field(Array(name.utf8)) + Self.field(entry.validator.map { Array($0.utf8) }) + Self.field(entry.raw)
        }
    }

    /// Decodes ``written``; `nil` if it is malformed.
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

    /// Removes the first field; `nil` if there is none, an inner `nil` for a missing validator.
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
