import Foundation

extension Date {
    /// The date in ISO 8601, in UTC with milliseconds: `2026-11-21T10:00:00.000Z`.
    ///
    /// Rounded to the millisecond, so that a parsed date is written back unchanged; Foundation's style truncates, and
    /// takes longer than everything else where a request has thousands of events. A date outside the years 1 to 9999 is
    /// the first or the last of them.
    package var iso8601Milliseconds: String {
        let seconds = min(max(timeIntervalSince1970, -62_135_596_800), 253_402_300_799)
        let total = Int((seconds * 1000).rounded())
        let millisecond = (total % 1000 + 1000) % 1000
        var second = time_t((total - millisecond) / 1000)
        var parts = tm()
        gmtime_r(&second, &parts)
        // The system counts years from 1900 and months from 0.
        let date = "\(padded(parts.tm_year + 1900, 4))-\(padded(parts.tm_mon + 1))-\(padded(parts.tm_mday))"
        let time = "\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec))"
        return "\(date)T\(time).\(padded(Int32(millisecond), 3))Z"
    }

    private func padded(_ number: Int32, _ width: Int = 2) -> String {
        let text = String(number)
        return text.utf8.count >= width ? text : String(repeating: "0", count: width - text.utf8.count) + text
    }

    /// Parses a date and time in ISO 8601, with or without a fraction, and with any notation of the zone.
    package init?(iso8601 text: String) {
        let zones: [Date.ISO8601FormatStyle.TimeZoneSeparator] = [.colon, .omitted]
        let styles = [true, false].flatMap { hasFraction in
            zones.map { Date.ISO8601FormatStyle(timeZoneSeparator: $0, includingFractionalSeconds: hasFraction) }
        }
        guard let date = styles.lazy.compactMap({ try? Date(text, strategy: $0) }).first else { return nil }
        self = date
    }
}
