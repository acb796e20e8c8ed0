import Foundation

/// Validates column values by the vendor's type codes.
enum EngageMockColumns {
    /// Returns the problem of a value, or `nil` if it is valid.
    ///
    /// An empty value clears any column.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - type: The type code of the column. Codes not handled here accept any text.
    /// - Returns: The kind of value that was expected, in the words of the vendor's messages.
    static func problem(with value: String, type: Int) -> String? {
        if value.isEmpty { return nil }
        switch type {
        case 1, 13: return isFlag(value) ? nil : "Yes/No"
        case 2: return isNumber(value) ? nil : "Numeric"
        case 3, 14, 17: return isDate(value) ? nil : "Date"
        case 4: return isTime(value) ? nil : "Time"
        default: return nil
        }
    }

    /// Whether a text looks like an e-mail address: text on both sides of a single `@`, without blanks.
    static func isAddress(_ text: String) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && !text.contains(where: \.isWhitespace)
    }

    /// Whether a text is a valid date as `MM/dd/yyyy`, `MM-dd-yyyy` or `yyyy-MM-dd`, optionally followed by a time and
    /// a zone.
    static func isDate(_ text: String) -> Bool {
        let parts = text.split(separator: " ", omittingEmptySubsequences: true)
        guard let day = parts.first, parts.count <= 3 else { return false }
        let numbers = day.split { $0 == "/" || $0 == "-" }.map { Int($0) ?? -1 }
        guard numbers.count == 3, !numbers.contains(-1) else { return false }
        let (year, month, date) =
            numbers[0] > 31 ? (numbers[0], numbers[1], numbers[2]) : (numbers[2], numbers[0], numbers[1])
        guard isDay(year: year, month: month, day: date) else { return false }
        if parts.count > 1, !isTime(String(parts[1]), withSeconds: true) { return false }
        return parts.count < 3 || ["GMT", "UTC", "Z"].contains(String(parts[2]))
    }

    /// Whether the date exists in the calendar.
    static func isDay(year: Int, month: Int, day: Int) -> Bool {
        guard (1000...9999).contains(year), (1...12).contains(month), day >= 1 else { return false }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return day <= [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    }

    private static func isFlag(_ text: String) -> Bool {
        ["true", "false", "yes", "no", "1", "0"].contains(text.lowercased())
    }

    private static func isNumber(_ text: String) -> Bool {
        text.allSatisfy { "0123456789.+-eE".contains($0) } && Double(text)?.isFinite == true
    }

    private static func isTime(_ text: String, withSeconds: Bool = false) -> Bool {
        let numbers = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
        guard numbers.count == 3 || numbers.count == 2 && !withSeconds else { return false }
        return (0..<24).contains(numbers[0]) && numbers.dropFirst().allSatisfy { (0..<60).contains($0) }
    }
}
