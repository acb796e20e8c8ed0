import Foundation

/// The time of an event as a line gives it: `2026-11-21T10:00:00.000Z`, with an offset in place of `Z` if need be.
///
/// Foundation's reader carries over what the calendar or the clock doesn't have: 30 February becomes 2 March.
enum EventTime {
    /// What is wrong with a text that is no time.
    enum Fault: Error {
        case form, day, clock

        /// What was expected instead.
        var expected: String {
            switch self {
            case .form: "a time as \"2026-11-21T10:00:00.000Z\""
            case .day: "a day that the calendar has"
            case .clock: "a time of day from 00:00:00 to 23:59:59"
            }
        }
    }

    /// Reads a time.
    static func date(_ text: String) throws(Fault) -> Date {
        guard isDay(text.prefix(10)) else { throw .day }
        guard isClock(text.dropFirst(10)) else { throw .clock }
        for style in [Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle()] {
            if let date = try? Date(text, strategy: style) { return date }
        }
        throw .form
    }

    /// Whether a day is one; what doesn't look like a day is for Foundation to refuse.
    private static func isDay(_ text: Substring) -> Bool {
        let parts = text.split(separator: "-").compactMap { Int($0) }
        guard parts.count == 3 else { return true }
        let (year, month, day) = (parts[0], parts[1], parts[2])
        let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return lengths.indices.contains(month - 1) && (1...lengths[month - 1]).contains(day)
    }

    /// Whether a time of day and its offset are ones; what doesn't look like them is for Foundation to refuse.
    private static func isClock(_ text: Substring) -> Bool {
        let clock = text.dropFirst().prefix(8).split(separator: ":").compactMap { Int($0) }
        if clock.count == 3, zip(clock, [24, 60, 60]).contains(where: { $0 >= $1 }) { return false }
        guard let sign = text.lastIndex(where: { $0 == "+" || $0 == "-" }) else { return true }
        let digits = text[text.index(after: sign)...].filter(\.isNumber)
        guard digits.count == 4, let hours = Int(digits.prefix(2)), let minutes = Int(digits.suffix(2)) else {
            return true
        }
        return hours < 24 && minutes < 60
    }
}
