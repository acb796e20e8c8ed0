/// Replaces the values of known credentials in what is recorded; pure.
///
/// Works on bytes, so that everything else stays as it was sent: adapters are tested with it.
enum Redaction {
    /// The text that replaces a credential.
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
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let first = body.dropFirst(body.starts(with: mark) ? mark.count : 0).first { !isBlank($0) }
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

    private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    /// Replaces the texts and numbers in secret members; what isn't valid JSON may stay as it is.
    private static func json(_ bytes: [UInt8]) -> [UInt8] {
        var redacted: [UInt8] = []
        redacted.reserveCapacity(bytes.count)
        var place = 0
        // The text that was read last, while only blanks and one colon have followed.
        var name: Range<Int>?
        var isAfterColon = false
        var streams = Inside()
        var secrets = Inside()
        while place < bytes.count {
            let member = isAfterColon ? name.map { bytes[$0] } : nil
            let isHidden = secrets.isSo || member.map { isSecret($0) } ?? false
            guard bytes[place] == UInt8(ascii: "\"") else {
                if isHidden, isOfNumber(bytes[place], atItsBeginning: true) {
                    redacted += Array("\"\(placeholder)\"".utf8)
                    while place < bytes.count, isOfNumber(bytes[place]) { place += 1 }
                    (name, isAfterColon) = (nil, false)
                    continue
                }
                streams.note(bytes[place], isEntrance: member?.elementsEqual("eventStreams".utf8) ?? false)
                secrets.note(bytes[place], isEntrance: isHidden)
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
            let text = bytes[content..<end]
            if isHidden, isAfterColon || !isName(endingAt: end, in: bytes) {
                redacted += Array(placeholder.utf8)
            } else {
                redacted += isAfterColon && streams.isSo ? address(text, isSecret: true) : Array(text)
            }
            if end < bytes.count { redacted.append(bytes[end]) }
            (name, isAfterColon) = isAfterColon ? (nil, false) : (content..<end, false)
            place = end + 1
        }
        return redacted
    }

    private static func isOfNumber(_ byte: UInt8, atItsBeginning: Bool = false) -> Bool {
        (atItsBeginning ? "-0123456789" : "-+.0123456789Ee").utf8.contains(byte)
    }

    /// Whether a text is a member's name: a colon follows.
    private static func isName(endingAt end: Int, in bytes: [UInt8]) -> Bool {
        bytes.dropFirst(end + 1).first { !isBlank($0) } == UInt8(ascii: ":")
    }

    /// Tracks whether a position is inside a certain member: one that is secret, or the streams of events that a server
    /// announces.
    ///
    /// The addresses of streams carry tickets, in queries that the server names as it likes.
    private struct Inside {
        private var depth = 0
        private var end: Int?

        var isSo: Bool { end != nil }

        mutating func note(_ byte: UInt8, isEntrance: Bool) {
            switch byte {
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                if end == nil, isEntrance { end = depth }
                depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                if end == depth { end = nil }
            default: break
            }
        }
    }
}
