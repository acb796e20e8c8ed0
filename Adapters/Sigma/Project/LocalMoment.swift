/// A date and a time of day on a wall clock, without a time zone.
///
/// Both sides of a comparison are in the device's zone, so the zone cancels out.
struct LocalMoment: Comparable, Sendable {
    /// Year, month and day as one number.
    let day: Int
    /// Seconds since midnight by the wall clock.
    let second: Int

    /// Parses `yyyy-MM-dd HH:mm:ss`, `yyyy-MM-dd HH:mm` or `yyyy-MM-dd`.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        func number(_ range: Range<Int>) -> Int? {
            var value = 0
            for index in range {
                guard index < bytes.count, (48...57).contains(bytes[index]) else { return nil }
                value = value * 10 + Int(bytes[index] - 48)
            }
            return value
        }
        func has(_ byte: Character, at index: Int) -> Bool { bytes[index] == byte.asciiValue }

        guard [10, 16, 19].contains(bytes.count), has("-", at: 4), has("-", at: 7), let year = number(0..<4),
            let month = number(5..<7), let day = number(8..<10), (1...12).contains(month), day >= 1,
            day <= Self.days(in: month, of: year)
        else { return nil }
        var second = 0
        if bytes.count > 10 {
            guard has(" ", at: 10), has(":", at: 13), let hours = number(11..<13), let minutes = number(14..<16),
                hours < 24, minutes < 60
            else { return nil }
            second = hours * 3600 + minutes * 60
        }
        if bytes.count > 16 {
            guard has(":", at: 16), let seconds = number(17..<19), seconds < 60 else { return nil }
            second += seconds
        }
        self.day = (year * 100 + month) * 100 + day
        self.second = second
    }

    static func < (one: Self, other: Self) -> Bool { (one.day, one.second) < (other.day, other.second) }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
