import Experimentation

extension World.Condition.Comparison {
    /// Whether it compares dates and times.
    public var isOfDates: Bool { [.before, .after, .onDay].contains(self) }
    /// Whether it compares versions.
    public var isOfVersions: Bool { [.versionBefore, .versionAfter].contains(self) }
    /// Whether it compares either, which not every vendor's operators do.
    public var isOfDatesOrVersions: Bool { isOfDates || isOfVersions }
}

extension World.Condition {
    /// Whether a time of the wall clock is before, after or on the day of another; a value that isn't a time is none of
    /// these.
    static func isInTime(_ actual: FlagValue, _ comparison: Comparison, _ bound: FlagValue) -> Bool {
        guard let actual = actual.stringValue.flatMap(moment), let bound = bound.stringValue.flatMap(moment) else {
            return false
        }
        return switch comparison {
        case .before: actual.lexicographicallyPrecedes(bound)
        case .after: bound.lexicographicallyPrecedes(actual)
        default: actual.prefix(3) == bound.prefix(3)
        }
    }

    /// Year, month, day, hour, minute and second of `2026-03-01`, `2026-03-01 18:30` or `2026-03-01 18:30:05`.
    private static func moment(_ text: String) -> [Int]? {
        let halves = text.split(separator: " ", omittingEmptySubsequences: false)
        let day = (halves.first ?? "").split(separator: "-", omittingEmptySubsequences: false).map(digits)
        guard halves.count <= 2, day.count == 3, let year = day[0], let month = day[1], let date = day[2],
            (1...12).contains(month), (1...31).contains(date)
        else { return nil }
        guard halves.count == 2 else { return [year, month, date, 0, 0, 0] }
        let time = halves[1].split(separator: ":", omittingEmptySubsequences: false).compactMap(digits)
        guard (2...3).contains(time.count), time.count == halves[1].split(separator: ":").count, time[0] < 24,
            time.dropFirst().allSatisfy({ $0 < 60 })
        else { return nil }
        return [year, month, date] + time + (time.count == 2 ? [0] : [])
    }

    /// Whether a version comes before another; parts are numbers, and missing parts at the end count as zero.
    static func isOlder(_ one: FlagValue, _ other: FlagValue) -> Bool {
        guard let one = one.stringValue.flatMap(version), let other = other.stringValue.flatMap(version) else {
            return false
        }
        return one.lexicographicallyPrecedes(other)
    }

    private static func version(_ text: String) -> [Int]? {
        var parts: [Int] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: false) {
            guard let number = digits(part) else { return nil }
            parts.append(number)
        }
        while parts.last == 0 { parts.removeLast() }
        return parts
    }

    private static func digits(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (48...57).contains($0) } ? Int(text) : nil
    }
}
