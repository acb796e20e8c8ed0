import Foundation

/// A text such as `1 day 15m` or `2014/12/25 11:12:13`, in which the vendor's files and payloads write lengths and
/// dates.
///
/// A number followed by any spaces and one of the letters `d`, `h`, `m`, `s` (either case) is a length; the rest of the
/// word is ignored, so `hrs` and `minutes` work. If there is no length at all, the last `yyyy/MM/dd HH:mm:ss` is a
/// date, in UTC.
///
/// The reference's quirks are kept, since existing texts may depend on them, and ``isPrecise`` reveals them: `1 month`
/// is a minute, `13 MST` hides the date before it, `500ms` is 500 minutes, the last of a repeated unit wins, and
/// unreadable text expires at once.
public struct Expiration: Sendable, Hashable {
    /// The length in seconds; 0 for a date, and for unreadable text.
    ///
    /// Never negative, and capped at ten thousand years, so that it can be added to any date.
    public let seconds: Int
    /// The date, if the text has one and no length.
    public let moment: Date?
    /// Whether every letter and digit of the text was read as a person would read it.
    public let isPrecise: Bool
    /// Whether there was a text: `false` for `nil`.
    public let isGiven: Bool

    private static let longest = 10_000 * 366 * 86_400

    /// Parses a text, in time proportional to its length.
    public init(_ text: String?) {
        guard let text else {
            (seconds, moment, isPrecise, isGiven) = (0, nil, true, false)
            return
        }
        isGiven = true
        if let lengths = Self.lengths(in: text) {
            (seconds, isPrecise) = lengths
            moment = nil
        } else {
            seconds = 0
            (moment, isPrecise) = Self.moment(in: text)
        }
    }

    /// The length in milliseconds.
    public var milliseconds: Int { seconds * 1000 }

    /// The length.
    public var duration: Duration { .seconds(seconds) }

    /// Returns when it expires: the date, or the length after a reference; the reference itself for unreadable text,
    /// and `nil` for no text.
    public func date(from reference: Date) -> Date? {
        guard isGiven else { return nil }
        return moment ?? reference.addingTimeInterval(Double(seconds))
    }

    /// Returns when it expires, in whole seconds since 1970; 0 for no text.
    public func timestamp(from reference: Date) -> Int {
        guard let date = date(from: reference) else { return 0 }
        return Int(exactly: date.timeIntervalSince1970.rounded(.down)) ?? 0
    }

    // MARK: Lengths

    /// Returns the sum of the lengths, and whether the text contains nothing else; `nil` if there is none.
    private static func lengths(in text: String) -> (seconds: Int, isPrecise: Bool)? {
        var numbers: [String: Int] = [:]
        var isPrecise = true
        var rest = text.unicodeScalars[...]
        while let first = rest.first {
            let digits = rest.prefix { ("0"..."9").contains($0) }
            guard !digits.isEmpty else {
                if first.properties.isAlphabetic || "+-.,".unicodeScalars.contains(first) { isPrecise = false }
                rest.removeFirst()
                continue
            }
            rest = rest[digits.endIndex...]
            let tail = rest.drop { $0.properties.isWhitespace }
            // The reference's pattern accepts a bar by mistake: it hides a date and adds nothing.
            guard let letter = tail.first, "dhmsDHMS|".unicodeScalars.contains(letter) else {
                isPrecise = false
                continue
            }
            let unit = String(letter).lowercased()
            let word = tail.prefix { $0.properties.isAlphabetic }
            if words[unit]?.contains(String(word).lowercased()) != true || numbers[unit] != nil { isPrecise = false }
            numbers[unit] = min(Int(String(digits)) ?? longest, longest)
            rest = tail.dropFirst(max(1, word.count))
        }
        let seconds = ["d": 86_400, "h": 3600, "m": 60, "s": 1].reduce(0) { sum, unit in
            min(longest, sum + min(longest, (numbers[unit.key] ?? 0) * unit.value))
        }
        return numbers.isEmpty ? nil : (seconds, isPrecise)
    }

    private static let words: [String: Set<String>] = [
        "d": ["d", "day", "days"],
        "h": ["h", "hr", "hrs", "hour", "hours"],
        "m": ["m", "min", "mins", "minute", "minutes"],
        "s": ["s", "sec", "secs", "second", "seconds"],
    ]

    // MARK: Dates

    /// Returns the last date, and whether it is the whole text.
    private static func moment(in text: String) -> (date: Date?, isWhole: Bool) {
        let shape = /([0-9]{4})\/([0-9]{2})\/([0-9]{2})\s([0-9]{2}:[0-9]{2}:[0-9]{2})/.matchingSemantics(.unicodeScalar)
        let style = Date.ISO8601FormatStyle()
        let matches = text.matches(of: shape)
        let dates = matches.compactMap { match -> Date? in
            let (_, year, month, day, time) = match.output
            let iso = "\(year)-\(month)-\(day)T\(time)Z"
            // If it is written back differently, the text's day or time doesn't exist.
            return (try? style.parse(iso)).flatMap { style.format($0) == iso ? $0 : nil }
        }
        return (dates.last, !dates.isEmpty && matches.first?.range == text.startIndex..<text.endIndex)
    }
}
