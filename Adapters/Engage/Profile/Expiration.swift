import Foundation

/// A text such as `1 day 15m` or `2014/12/25 11:12:13`, in which the vendor's files and payloads write lengths and
/// dates.
///
/// A number followed by any spaces and one of the letters `d`, `h`, `m`, `s` (either case) is a length; the rest of the
/// word is ignored, so `hrs` and `minutes` work. If there is no length at all, the last `yyyy/MM/dd HH:mm:ss` is a
/// date, in UTC.
///
/// The reference's quirks are kept, since existing texts may depend on them, and ``isPrecise`` reveals them: `1 month`
/// is a minute, `13 MST` hides the date before it, `500ms` is 500 minutes, of a unit given twice the last wins, and
/// unreadable text expires at once.
public struct Expiration: Sendable, Hashable {
    /// The length in seconds; 0 for a date, and for unreadable text.
    ///
    /// Never negative, and capped at ten thousand years, so that it can be added to any date.
    public let seconds: Int
    /// The date, if the text has one and no length.
    public let moment: Date?
    /// Whether every letter and digit of the text was read as a person would.
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
        let scalars = Array(text.unicodeScalars)
        let lengths = Self.lengths(in: scalars)
        if lengths.found {
            seconds = lengths.seconds
            moment = nil
            isPrecise = lengths.isPrecise
        } else {
            let dates = Self.moments(in: scalars)
            seconds = 0
            moment = dates.last
            isPrecise = dates.last != nil && dates.isWhole
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

    private static func lengths(in text: [Unicode.Scalar]) -> (found: Bool, seconds: Int, isPrecise: Bool) {
        var units: [Character: Int] = [:]
        var found = false
        var isPrecise = true
        var index = 0
        while index < text.count {
            guard let first = digit(text[index]) else {
                if text[index].properties.isAlphabetic || "+-.,".unicodeScalars.contains(text[index]) {
                    isPrecise = false
                }
                index += 1
                continue
            }
            var number = first
            var end = index + 1
            while end < text.count, let next = digit(text[end]) {
                number = min(number * 10 + next, longest)
                end += 1
            }
            var letter = end
            while letter < text.count, isBlank(text[letter]) { letter += 1 }
            guard letter < text.count, "dhmsDHMS|".unicodeScalars.contains(text[letter]) else {
                isPrecise = false
                index = end
                continue
            }
            found = true
            var word = letter + 1
            while word < text.count, text[word].properties.isAlphabetic { word += 1 }
            let unit = Character(Unicode.Scalar(text[letter].value | 0x20) ?? "|")
            if let known = words[unit],
                known.contains(String(String.UnicodeScalarView(text[letter..<word])).lowercased()),
                units[unit] == nil
            {
                index = word
            } else {
                isPrecise = false
                index = letter + 1
            }
            // The reference's pattern accepts a bar by mistake: it hides a date and adds nothing.
            if text[letter] != "|" { units[unit] = number }
        }
        let sizes: [Character: Int] = ["d": 86_400, "h": 3600, "m": 60, "s": 1]
        let seconds = units.reduce(0) { sum, unit in
            min(longest, sum + min(longest, unit.value * (sizes[unit.key] ?? 0)))
        }
        return (found, seconds, isPrecise)
    }

    private static let words: [Character: Set<String>] = [
        "d": ["d", "day", "days"],
        "h": ["h", "hr", "hrs", "hour", "hours"],
        "m": ["m", "min", "mins", "minute", "minutes"],
        "s": ["s", "sec", "secs", "second", "seconds"],
    ]

    // MARK: Dates

    private static func moments(in text: [Unicode.Scalar]) -> (last: Date?, isWhole: Bool) {
        // The fields' widths, and the character after each.
        let shape: [(width: Int, after: String)] = [(4, "/"), (2, "/"), (2, " "), (2, ":"), (2, ":"), (2, "")]
        let length = 19
        var last: Date?
        var isWhole = false
        var start = 0
        scan: while start + length <= text.count {
            var position = start
            var fields: [Int] = []
            for (width, after) in shape {
                var number = 0
                for _ in 0..<width {
                    guard let value = digit(text[position]) else {
                        start += 1
                        continue scan
                    }
                    number = number * 10 + value
                    position += 1
                }
                fields.append(number)
                guard let separator = after.unicodeScalars.first else { continue }
                guard separator == " " ? isBlank(text[position]) : text[position] == separator else {
                    start += 1
                    continue scan
                }
                position += 1
            }
            if let date = date(fields) {
                last = date
                isWhole = start == 0 && position == text.count
            }
            start = position
        }
        return (last, isWhole)
    }

    private static func date(_ fields: [Int]) -> Date? {
        guard (1...12).contains(fields[1]), (1...31).contains(fields[2]), fields[3] < 24, fields[4] < 60,
            fields[5] < 60
        else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = DateComponents(
            year: fields[0],
            month: fields[1],
            day: fields[2],
            hour: fields[3],
            minute: fields[4],
            second: fields[5]
        )
        guard let date = calendar.date(from: parts), calendar.component(.day, from: date) == fields[2] else {
            return nil
        }
        return date
    }

    private static func digit(_ scalar: Unicode.Scalar) -> Int? {
        (0x30...0x39).contains(scalar.value) ? Int(scalar.value) - 0x30 : nil
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.isWhitespace }
}
