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
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - isSecret: Whether every value in the query is a credential.
    /// - Returns: The path without credentials.
    static func path(_ path: String, isSecret: Bool = false) -> String {
        String(decoding: address(Array(path.utf8), isSecret: isSecret), as: UTF8.self)
    }

    private static func address(_ bytes: some Collection<UInt8>, isSecret: Bool) -> [UInt8] {
        guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return Array(bytes) }
        return bytes[...mark] + form(Array(bytes[bytes.index(after: mark)...]), isSecret: isSecret)
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

    private static func form(_ bytes: [UInt8], isSecret all: Bool = false) -> [UInt8] {
        let fields = bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        let redacted = fields.map { field -> [UInt8] in
            guard let mark = field.firstIndex(of: UInt8(ascii: "=")) else {
                return all && !field.isEmpty ? Array(placeholder.utf8) : Array(field)
            }
            return all || isSecret(field[..<mark]) ? Array(field[...mark]) + placeholder.utf8 : Array(field)
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
        var streams = Streams()
        while place < bytes.count {
            guard bytes[place] == UInt8(ascii: "\"") else {
                streams.note(bytes[place], after: isAfterColon ? name.map { bytes[$0] } : nil)
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
            redacted.append(bytes[place])
            redacted += value(bytes[content..<end], of: isAfterColon ? name.map { bytes[$0] } : nil, streams.isInside)
            if end < bytes.count { redacted.append(bytes[end]) }
            (name, isAfterColon) = isAfterColon ? (nil, false) : (content..<end, false)
            place = end + 1
        }
        return redacted
    }

    private static func value(
        _ text: ArraySlice<UInt8>,
        of name: ArraySlice<UInt8>?,
        _ isInStreams: Bool
    ) -> [UInt8] {
        guard let name else { return Array(text) }
        if isSecret(name) { return Array(placeholder.utf8) }
        return isInStreams ? address(text, isSecret: true) : Array(text)
    }

    /// Follows whether a place is inside the streams of events that a server announces.
    ///
    /// The addresses of these carry tickets, in queries that the server names as it likes.
    private struct Streams {
        private var depth = 0
        private var end: Int?

        var isInside: Bool { end != nil }

        mutating func note(_ byte: UInt8, after name: ArraySlice<UInt8>?) {
            switch byte {
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                if end == nil, let name, name.elementsEqual("eventStreams".utf8) { end = depth }
                depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                if end == depth { end = nil }
            default: break
            }
        }
    }
}
