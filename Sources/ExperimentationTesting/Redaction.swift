/// Replaces the values of known credentials in what is recorded; pure.
///
/// Works on bytes, so that everything else stays as it was sent: adapters are tested with it.
enum Redaction {
    /// What stands in place of a credential.
    static let placeholder = "redacted"

    /// The fields whose values are credentials, in lower case and without `_` and `-`.
    private static let names: Set<String> = [
        "accesstoken", "apikey", "apitoken", "authorization", "bearertoken", "clientassertion", "clientsecret",
        "idtoken",
        "password", "refreshtoken", "secretkey",
    ]

    private static func isSecret(_ name: some Sequence<UInt8>) -> Bool {
        let plain = name.filter { ![UInt8(ascii: "_"), UInt8(ascii: "-")].contains($0) }
        return names.contains(String(decoding: plain, as: UTF8.self).lowercased())
    }

    /// A path with its query; credentials are replaced in the query alone.
    static func path(_ path: String) -> String {
        guard let mark = path.firstIndex(of: "?") else { return path }
        let query = Array(path[path.index(after: mark)...].utf8)
        return path[...mark] + String(decoding: form(query), as: UTF8.self)
    }

    /// A body: JSON if it begins like an object or a list, a form otherwise.
    ///
    /// In anything else, such as XML, there is nothing to replace.
    static func body(_ body: [UInt8]) -> [UInt8] {
        let blanks: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]
        let first = body.first { !blanks.contains($0) }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[") ? json(body) : form(body)
    }

    // MARK: Formats

    private static func form(_ bytes: [UInt8]) -> [UInt8] {
        let fields = bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        let redacted = fields.map { field -> [UInt8] in
            guard let mark = field.firstIndex(of: UInt8(ascii: "=")), isSecret(field[..<mark]) else {
                return Array(field)
            }
            return Array(field[...mark]) + placeholder.utf8
        }
        return Array(redacted.joined(separator: [UInt8(ascii: "&")]))
    }

    /// Replaces each text that follows the name of a secret member; what isn't valid JSON may stay as it is.
    private static func json(_ bytes: [UInt8]) -> [UInt8] {
        var redacted: [UInt8] = []
        redacted.reserveCapacity(bytes.count)
        var place = 0
        // The text that was read last, while only blanks and one colon have followed.
        var name: Range<Int>?
        var isAfterColon = false
        while place < bytes.count {
            guard bytes[place] == UInt8(ascii: "\"") else {
                switch bytes[place] {
                case 0x20, 0x09, 0x0A, 0x0D: break
                case UInt8(ascii: ":") where name != nil && !isAfterColon: isAfterColon = true
                default: (name, isAfterColon) = (nil, false)
                }
                redacted.append(bytes[place])
                place += 1
                continue
            }
            let content = place + 1
            var end = content
            while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
                end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
            }
            end = min(end, bytes.count)
            let isValue = isAfterColon && name.map { isSecret(bytes[$0]) } == true
            redacted.append(bytes[place])
            redacted += isValue ? Array(placeholder.utf8)[...] : bytes[content..<end]
            if end < bytes.count { redacted.append(bytes[end]) }
            (name, isAfterColon) = isAfterColon ? (nil, false) : (content..<end, false)
            place = end + 1
        }
        return redacted
    }
}
