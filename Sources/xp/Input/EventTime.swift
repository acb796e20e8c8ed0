import Foundation

/// An event's time as in the input: `2026-11-21T10:00:00.000Z`, or with an offset in place of `Z`.
///
/// Checks the ranges itself, because Foundation accepts dates that don't exist: 30 February becomes 2 March.
enum EventTime {
    /// Why a text isn't a time.
    enum Fault: Error {
        case form, day, clock

        /// What was expected.
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

    /// Whether the day exists; leaves malformed text to Foundation.
    private static func isDay(_ text: Substring) -> Bool {
        let parts = text.split(separator: "-").compactMap { Int($0) }
        guard parts.count == 3 else { return true }
        let (year, month, day) = (parts[0], parts[1], parts[2])
        let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return lengths.indices.contains(month - 1) && (1...lengths[month - 1]).contains(day)
    }

    /// Whether the time of day and offset exist; leaves malformed text to Foundation.
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
