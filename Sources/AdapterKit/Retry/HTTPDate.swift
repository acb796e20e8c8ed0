import Foundation

/// Dates in HTTP's format, always in GMT: `Sun, 06 Nov 1994 08:49:37 GMT`.
public enum HTTPDate {
    /// Formats a date, to the second.
    public static func format(_ date: Date) -> String {
        let seconds = Int(exactly: date.timeIntervalSince1970.rounded(.down)) ?? 0
        let (days, rest) = seconds.quotientAndRemainderRoundingDown(by: 86_400)
        let (year, month, day) = civil(fromDays: days)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let four = String(repeating: "0", count: max(0, 4 - "\(year)".count)) + "\(year)"
        // 1 January 1970 was a Thursday.
        let weekday = weekdays[(days + 3).quotientAndRemainderRoundingDown(by: 7).remainder]
        let time = "\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
        return "\(weekday), \(two(day)) \(months[month - 1]) \(four) \(time) GMT"
    }

    /// Parses a date in any of HTTP's three forms (RFC 9110, 5.6.7); `nil` for anything else.
    ///
    /// The day's name isn't checked. A two-digit year is placed within fifty years of 2000.
    public static func parse(_ text: String) -> Date? {
        let words = text.split { $0 == " " || $0 == "-" || $0 == "," }
        guard text.utf8.count <= 40, words.count == 6 || words.count == 5 else { return nil }
        guard dayNames.contains(words[0].prefix(3).lowercased()) else { return nil }
        if words.count == 6, words[5] == "GMT" {
            return date(year: words[3], month: words[2], day: words[1], time: words[4])
        }
        // asctime: Sun Nov  6 08:49:37 1994
        guard words.count == 5, text.utf8.count == 24 else { return nil }
        return date(year: words[4], month: words[1], day: words[2], time: words[3])
    }

    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let dayNames = Set(weekdays.map { $0.lowercased() })
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func date(year: Substring, month: Substring, day: Substring, time: Substring) -> Date? {
        func number(_ text: Substring, _ range: ClosedRange<Int>) -> Int? {
            guard (1...4).contains(text.utf8.count), text.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
            return Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
        let clock = time.split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let written = number(year, 0...9999), let month = months.firstIndex(of: String(month)),
            let day = number(day, 1...31), let hour = number(clock[0], 0...23), let minute = number(clock[1], 0...59),
            let second = number(clock[2], 0...60)
        else { return nil }
        let year = year.utf8.count == 2 ? written + (written < 50 ? 2000 : 1900) : written
        let days = days(year: year, month: month + 1, day: day)
        guard civil(fromDays: days) == (year, month + 1, day) else { return nil }
        return Date(timeIntervalSince1970: Double(days * 86_400 + hour * 3600 + minute * 60 + second))
    }

    // Calendar arithmetic by Howard Hinnant's algorithms for the proleptic Gregorian calendar, which count years from
    // March so that the leap day comes last.

    static func civil(fromDays days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let (era, dayOfEra) = shifted.quotientAndRemainderRoundingDown(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let index = (5 * dayOfYear + 2) / 153
        let month = index < 10 ? index + 3 : index - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * index + 2) / 5 + 1)
    }

    static func days(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = year.quotientAndRemainderRoundingDown(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

extension Int {
    fileprivate func quotientAndRemainderRoundingDown(by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
