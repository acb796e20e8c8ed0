import Foundation

/// Dates in the vendor's formats; always Gregorian and in UTC, whatever the device's settings.
enum EngageTimestamp {
    /// `2015-02-03T18:04:05.678Z`, for behaviors.
    static func behavior(_ date: Date) -> String {
        let (parts, millisecond) = parts(of: date)
        return "\(padded(parts.tm_year, 4))-\(padded(parts.tm_mon))-\(padded(parts.tm_mday))T"
            + "\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec)).\(padded(millisecond, 3))Z"
    }

    /// `02/03/2015 18:04:05 GMT`, for the history of merges.
    static func merge(_ date: Date) -> String {
        let (parts, _) = parts(of: date)
        return "\(padded(parts.tm_mon))/\(padded(parts.tm_mday))/\(padded(parts.tm_year, 4))"
            + " \(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec)) GMT"
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

    /// Computes a date's components: using a formatter for each of ten thousand behaviors costs more than everything
    /// else.
    private static func parts(of date: Date) -> (parts: tm, millisecond: Int32) {
        // From the year 1 to the year 9999; a clock outside that range is meaningless here.
        let seconds = min(max(date.timeIntervalSince1970, -62_135_596_800), 253_402_300_799)
        let total = Int((seconds * 1000).rounded())
        let millisecond = (total % 1000 + 1000) % 1000
        var second = (total - millisecond) / 1000
        var parts = tm()
        gmtime_r(&second, &parts)
        // The system counts years from 1900 and months from 0.
        parts.tm_year += 1900
        parts.tm_mon += 1
        return (parts, Int32(millisecond))
    }

    private static func padded(_ number: Int32, _ width: Int = 2) -> String {
        let text = String(number)
        return text.utf8.count >= width ? text : String(repeating: "0", count: width - text.utf8.count) + text
    }
}
