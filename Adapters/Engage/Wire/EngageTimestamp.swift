import Foundation

/// Dates in the vendor's formats; always Gregorian and in UTC, whatever the device's settings.
enum EngageTimestamp {
    /// `2015-02-03T18:04:05.678Z`, for behaviors.
    static func behavior(_ date: Date) -> String {
        let parts = parts(of: date)
        return "\(padded(parts.year, 4))-\(padded(parts.month))-\(padded(parts.day))"
            + "T\(padded(parts.hour)):\(padded(parts.minute)):\(padded(parts.second)).\(padded(parts.millisecond, 3))Z"
    }

    /// `02/03/2015 18:04:05 GMT`, for the history of merges.
    static func merge(_ date: Date) -> String {
        let parts = parts(of: date)
        return "\(padded(parts.month))/\(padded(parts.day))/\(padded(parts.year, 4))"
            + " \(padded(parts.hour)):\(padded(parts.minute)):\(padded(parts.second)) GMT"
    }

    /// Formats a date by a Unicode pattern.
    static func text(_ date: Date, pattern: String) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.calendar = Calendar(identifier: .gregorian)
        formatter.timeZone = .gmt
        formatter.dateFormat = pattern
        return formatter.string(from: date)
    }

    private struct Parts {
        var year, month, day, hour, minute, second, millisecond: Int
    }

    /// Computes a date's components: using a formatter for each of ten thousand behaviors costs more than everything
    /// else.
    private static func parts(of date: Date) -> Parts {
        // From the year 1 to the year 9999; a clock outside that range is meaningless here.
        let seconds = min(max(date.timeIntervalSince1970, -62_135_596_800), 253_402_300_799)
        let total = Int((seconds * 1000).rounded())
        let milliseconds = ((total % 86_400_000) + 86_400_000) % 86_400_000
        let days = (total - milliseconds) / 86_400_000
        // Converts days to a date by eras of 400 years, which begin on the first of March.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return Parts(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
            month: month,
            day: dayOfYear - (153 * shiftedMonth + 2) / 5 + 1,
            hour: milliseconds / 3_600_000,
            minute: milliseconds / 60_000 % 60,
            second: milliseconds / 1000 % 60,
            millisecond: milliseconds % 1000
        )
    }

    private static func padded(_ number: Int, _ width: Int = 2) -> String {
        let text = String(number)
        return text.utf8.count >= width ? text : String(repeating: "0", count: width - text.utf8.count) + text
    }
}
