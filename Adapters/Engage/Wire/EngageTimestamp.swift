import Experimentation
import Foundation

/// Dates in the vendor's formats; always Gregorian and in UTC, whatever the device's settings.
enum EngageTimestamp {
    /// `2015-02-03T18:04:05.678Z`, for behaviors.
    static func behavior(_ date: Date) -> String { date.iso8601Milliseconds }

    /// `02/03/2015 18:04:05 GMT`, for the history of merges.
    static func merge(_ date: Date) -> String { text(date, pattern: "MM/dd/yyyy HH:mm:ss 'GMT'") }

    /// Formats a date by a Unicode pattern.
    static func text(_ date: Date, pattern: String) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.calendar = Calendar(identifier: .gregorian)
        formatter.timeZone = .gmt
        formatter.dateFormat = pattern
        return formatter.string(from: date)
    }
}
