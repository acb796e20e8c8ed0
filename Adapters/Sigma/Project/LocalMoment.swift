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
        let form = "0000-00-00 00:00:00".utf8
        // Omitted parts are zero.
        let bytes = Array(text.utf8) + form.dropFirst(text.utf8.count)
        let hasForm = zip(bytes, form).allSatisfy { $1 == 48 ? (48...57).contains($0) : $0 == $1 }
        guard [10, 16, 19].contains(text.utf8.count), hasForm else { return nil }
        func number(_ range: Range<Int>) -> Int { bytes[range].reduce(0) { $0 * 10 + Int($1 - 48) } }
        let (year, month, day) = (number(0..<4), number(5..<7), number(8..<10))
        let (hour, minute, second) = (number(11..<13), number(14..<16), number(17..<19))
        guard (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day), hour < 24, minute < 60,
            second < 60
        else { return nil }
        self.day = (year * 100 + month) * 100 + day
        self.second = (hour * 60 + minute) * 60 + second
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
