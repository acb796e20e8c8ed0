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
        let millisecond = (total % 1000 + 1000) % 1000
        var second = (total - millisecond) / 1000
        var parts = tm()
        gmtime_r(&second, &parts)
        return Parts(
            year: Int(parts.tm_year) + 1900,
            month: Int(parts.tm_mon) + 1,
            day: Int(parts.tm_mday),
            hour: Int(parts.tm_hour),
            minute: Int(parts.tm_min),
            second: Int(parts.tm_sec),
            millisecond: millisecond
        )
    }

    private static func padded(_ number: Int, _ width: Int = 2) -> String {
        let text = String(number)
        return text.utf8.count >= width ? text : String(repeating: "0", count: width - text.utf8.count) + text
    }
}
