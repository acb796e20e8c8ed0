import AdapterKit
import Experimentation

/// The name of one bulk answer: equal for equal answers, another for any other.
///
/// It is a sum of digests, one for each item's text and one for what surrounds them. The items' digests are made when the
/// rules come, so that a tag costs a few additions for each flag. The sum doesn't see the order of items, which a client
/// doesn't either.
struct EntityTag: Sendable, Hashable {
    /// What one text adds.
    struct Mark: Sendable, Hashable {
        fileprivate var high: UInt64
        fileprivate var low: UInt64

        /// The first half of a text's SHA-256.
        init(of text: some Sequence<UInt8>) {
            let digest = SHA256.digest(of: text)
            func word(_ at: Int) -> UInt64 { digest[at..<at + 8].reduce(0) { $0 << 8 | UInt64($1) } }
            (high, low) = (word(0), word(8))
        }
    }

    private var high: UInt64
    private var low: UInt64

    /// Makes the tag of an answer.
    ///
    /// - Parameters:
    ///   - frame: The mark of what surrounds the items.
    ///   - items: The marks of the items.
    init(frame: Mark, items: some Sequence<Mark>) {
        (high, low) = (frame.high, frame.low)
        for item in items {
            high &+= item.high
            low &+= item.low
        }
    }

    /// The tag as a field has it, with its quotes.
    var text: String {
        func digits(_ word: UInt64) -> String {
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        return "\"" + digits(high) + digits(low) + "\""
    }

    /// Whether an `If-None-Match` names this tag.
    ///
    /// Lists, weak forms, which proxies make, and forms without quotes, which clients make, count; `*` names no answer,
    /// because the request isn't for one that is there anyway.
    func isNamed(in field: String) -> Bool {
        let own = text.dropFirst().dropLast()
        return field.split(separator: ",").contains { candidate in
            var candidate = candidate.drop { $0 == " " || $0 == "\t" }
            while candidate.last == " " || candidate.last == "\t" { candidate.removeLast() }
            if candidate.hasPrefix("W/") { candidate.removeFirst(2) }
            if candidate.count >= 2, candidate.first == "\"", candidate.last == "\"" {
                candidate = candidate.dropFirst().dropLast()
            }
            return candidate == own
        }
    }
}
