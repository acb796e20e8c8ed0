import Experimentation

/// Removes from the texts of a report whatever would give its readers access: tokens, and the addresses of event
/// streams.
///
/// It redacts a text before the text is cut: what is left of a token that was cut in the middle isn't recognized.
struct Redaction: Sendable {
    private let secrets: [(bytes: [UInt8], word: [UInt8])]

    /// Creates a redaction.
    ///
    /// - Parameters:
    ///   - tokens: The tokens.
    ///   - streams: The known event streams, as a bulk answer has them.
    init(tokens: [String], streams: [FlagValue] = []) {
        // One case sends a token without its last letter, and a server may repeat that.
        var secrets = tokens.flatMap { $0.utf8.count > 8 ? [$0, String($0.dropLast())] : [$0] }.map { ($0, "<token>") }
        for case .object(let stream) in streams {
            var addresses = [stream["url"]?.stringValue]
            if case .object(let endpoint)? = stream["endpoint"] {
                addresses.append(endpoint["requestUri"]?.stringValue)
            }
            // A short one grants no access, and would be found everywhere.
            secrets += addresses.compactMap { $0 }.filter { $0.utf8.count > 8 }.map { ($0, "<address>") }
        }
        // JSON may escape a slash.
        secrets += secrets.filter { $0.0.contains("/") }.map { ($0.0.replacing("/", with: "\\/"), $0.1) }
        // The longest first, because a longer one may begin with a shorter one.
        self.secrets = secrets.filter { !$0.0.isEmpty }.sorted { $0.0.utf8.count > $1.0.utf8.count }
            .map { (Array($0.0.utf8), Array($0.1.utf8)) }
    }

    /// Returns the beginning of a text, redacted.
    ///
    /// - Parameters:
    ///   - bytes: The whole text.
    ///   - most: The maximum number of bytes to return.
    /// - Returns: The text.
    func shown(_ bytes: some Sequence<UInt8>, atMost most: Int = .max) -> String {
        let bytes = Array(bytes)
        var shown: [UInt8] = []
        var place = 0
        while place < bytes.count, shown.count < most {
            if let secret = secrets.first(where: { bytes[place...].starts(with: $0.bytes) }) {
                shown += secret.word
                place += secret.bytes.count
            } else if bytes[place...].starts(with: Self.announcement) {
                place += Self.announcement.count
                shown += Self.announcement
                place = copyAnnouncement(bytes, from: place, to: &shown)
            } else {
                shown.append(bytes[place])
                place += 1
            }
        }
        return String(decoding: shown.prefix(most), as: UTF8.self)
    }

    private static let announcement = Array(#""eventStreams""#.utf8)

    /// Copies the value of `eventStreams`, replacing every string that has a slash, even an incomplete one.
    ///
    /// - Returns: Where the value ends.
    private func copyAnnouncement(_ bytes: [UInt8], from start: Int, to shown: inout [UInt8]) -> Int {
        var place = start
        var depth = 0
        while place < bytes.count {
            switch bytes[place] {
            case UInt8(ascii: "\""):
                let end = Self.endOfText(bytes, from: place)
                let text = bytes[place..<end]
                shown += text.contains(UInt8(ascii: "/")) ? Array("\"<address>\"".utf8) : Array(text)
                place = end
                continue
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                if depth == 0 { return place }
                depth -= 1
            case UInt8(ascii: ",") where depth == 0: return place
            default: break
            }
            shown.append(bytes[place])
            place += 1
        }
        return place
    }

    /// The end of the JSON string that begins at a quotation mark.
    private static func endOfText(_ bytes: [UInt8], from start: Int) -> Int {
        var place = start + 1
        while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
            place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(place + 1, bytes.count)
    }
}
