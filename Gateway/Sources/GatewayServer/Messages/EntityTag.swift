import AdapterKit
import Experimentation

/// The entity tag of a bulk answer: equal answers have equal tags, different answers have different ones.
///
/// It is a sum of digests, one for each item's text and one for the frame. The items' digests are computed once per
/// ruleset, so a tag costs a few additions per flag. The sum ignores the order of items, as clients do.
struct EntityTag: Sendable, Hashable {
    /// The contribution of one text.
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

    /// Creates the tag of an answer.
    ///
    /// - Parameters:
    ///   - frame: The mark of the frame.
    ///   - items: The marks of the items.
    init(frame: Mark, items: some Sequence<Mark>) {
        (high, low) = (frame.high, frame.low)
        for item in items {
            high &+= item.high
            low &+= item.low
        }
    }

    /// The tag with its quotes, as in a header field.
    ///
    /// - Parameter revision: The revision of the rules that instances share, which follows the digest; `nil` for none.
    /// - Returns: The text.
    func text(at revision: Int64?) -> String {
        guard let revision else { return text }
        return "\(text.dropLast()).\(revision)\""
    }

    /// The tag with its quotes, without a revision.
    var text: String {
        String(unsafeUninitializedCapacity: 34) { buffer in
            buffer[0] = UInt8(ascii: "\"")
            for place in 0..<32 {
                let digit = UInt8(truncatingIfNeeded: (place < 16 ? high : low) >> UInt64(60 - 4 * (place % 16))) & 15
                buffer[place + 1] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            }
            buffer[33] = UInt8(ascii: "\"")
            return 34
        }
    }

    /// Whether an `If-None-Match` field matches this tag.
    ///
    /// Accepts lists, weak tags, which proxies produce, and tags without quotes, which some clients send; `*` never
    /// matches, because evaluations aren't conditional on the existence of a resource.
    func isNamed(in field: String) -> Bool { Self.isNamed(text, in: field) }

    /// Whether an `If-None-Match` field matches a tag in its written form.
    ///
    /// Revisions aren't compared: a tag of other rules names the same answer if its digest is the same.
    static func isNamed(_ tag: String, in field: String) -> Bool {
        let own = parts(of: Substring(tag).utf8).digest
        return field.utf8.split(separator: UInt8(ascii: ",")).contains { parts(of: $0).digest.elementsEqual(own) }
    }

    /// The greatest revision in an `If-None-Match` field; `nil` if no tag has one.
    static func revision(in field: String) -> Int64? {
        guard field.utf8.contains(UInt8(ascii: ".")) else { return nil }
        return field.utf8.split(separator: UInt8(ascii: ",")).compactMap { parts(of: $0).revision }.max()
    }

    /// The digest and the revision of one tag, in any form.
    private static func parts(of candidate: Substring.UTF8View) -> (digest: Substring.UTF8View, revision: Int64?) {
        let (space, tab, quote) = (UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\""))
        var candidate = candidate.drop { $0 == space || $0 == tab }
        while candidate.last == space || candidate.last == tab { candidate.removeLast() }
        if candidate.starts(with: "W/".utf8) { candidate = candidate.dropFirst(2) }
        if candidate.count >= 2, candidate.first == quote, candidate.last == quote {
            candidate = candidate.dropFirst().dropLast()
        }
        guard let point = candidate.lastIndex(of: UInt8(ascii: ".")) else { return (candidate, nil) }
        let digits = candidate[candidate.index(after: point)...]
        guard let first = digits.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
            let revision = Int64(Substring(digits))
        else { return (candidate, nil) }
        return (candidate[..<point], revision)
    }
}
