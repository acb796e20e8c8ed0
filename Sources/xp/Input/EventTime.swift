import Foundation

/// An event's time as in the input: `2026-11-21T10:00:00.000Z`, or with an offset in place of `Z`.
///
/// Checks form and ranges itself: Foundation ignores what follows a time, and accepts days that don't exist; 30 February
/// becomes 2 March.
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
        let form =
            #/
            ([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})
            (?:\.[0-9]+)?(?:Z|[+-]([0-9]{2})(?::?([0-9]{2}))?)
            /#
        guard let parts = text.wholeMatch(of: form)?.output else { throw .form }
        guard isDay(number(parts.1), number(parts.2), number(parts.3)) else { throw .day }
        let clock = [number(parts.4), number(parts.5), number(parts.6)]
        let offset = [number(parts.7), number(parts.8)]
        guard !zip(clock + offset, [24, 60, 60, 24, 60]).contains(where: { $0 >= $1 }) else { throw .clock }
        for style in [Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle()] {
            if let date = try? Date(text, strategy: style) { return date }
        }
        throw .form
    }

    private static func number(_ digits: Substring?) -> Int { digits.flatMap { Int($0) } ?? 0 }

    /// Whether the calendar has a day.
    private static func isDay(_ year: Int, _ month: Int, _ day: Int) -> Bool {
        let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return lengths.indices.contains(month - 1) && (1...lengths[month - 1]).contains(day)
    }
}
