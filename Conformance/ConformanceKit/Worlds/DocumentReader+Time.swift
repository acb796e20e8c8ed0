import Foundation

extension DocumentReader {
    /// Returns the time of a key, with its offset or in UTC; `nil` if it is missing.
    ///
    /// - Throws: If it doesn't have the form `2026-11-21T10:00:00.000Z`, or is a time that doesn't exist, such as 30
    ///   February.
    public mutating func optionalTime(_ key: String) throws(DocumentError) -> Date? {
        guard let text = try optionalString(key) else { return nil }
        do throws(EventTime.Fault) { return try EventTime.date(text) } catch {
            throw wrong(key, expected: error.expected)
        }
    }
}

/// An event's time as written in documents: `2026-11-21T10:00:00.000Z`, or with an offset in place of `Z`.
///
/// Checks form and ranges itself: Foundation ignores anything after a time, and accepts days that don't exist; 30
/// February becomes 2 March.
enum EventTime {
    /// Why a text isn't a time.
    enum Fault: Error {
        case form, day, clock

        /// What was expected.
        var expected: String {
            switch self {
            case .form: "a time as \"2026-11-21T10:00:00.000Z\""
            case .day: "a day that the calendar has"
            case .clock: "a time of day from 00:00:00 to 23:59:59"
            }
        }
    }

    /// Reads a time.
    static func date(_ text: String) throws(Fault) -> Date {
        // Digits become zeros, so that a form can be compared.
        let form = String(decoding: text.utf8.map { isDigit($0) ? UInt8(ascii: "0") : $0 }, as: UTF8.self)
        guard form.hasPrefix("0000-00-00T00:00:00") else { throw .form }
        var zone = form.dropFirst(19)
        if zone.first == "." {
            let fraction = zone.dropFirst().prefix { $0 == "0" }
            guard !fraction.isEmpty else { throw .form }
            zone = zone.dropFirst(1 + fraction.count)
        }
        let isOffset = "+-".contains(zone.first ?? "Z") && ["00", "0000", "00:00"].contains(zone.dropFirst())
        guard zone == "Z" || isOffset else { throw .form }
        guard isDay(number(text.prefix(4)), number(text.dropFirst(5).prefix(2)), number(text.dropFirst(8).prefix(2)))
        else { throw .day }
        let clock = [11, 14, 17].map { number(text.dropFirst($0).prefix(2)) }
        let digits = text.suffix(zone.count).filter(\.isNumber)
        let offset = [number(digits.prefix(2)), number(digits.dropFirst(2))]
        guard !zip(clock + offset, [24, 60, 60, 24, 60]).contains(where: { $0 >= $1 }) else { throw .clock }
        for style in [Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle()] {
            if let date = try? Date(text, strategy: style) { return date }
        }
        throw .form
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func number(_ digits: some StringProtocol) -> Int { Int(digits) ?? 0 }

    /// Whether the calendar has a day.
    private static func isDay(_ year: Int, _ month: Int, _ day: Int) -> Bool {
        let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return lengths.indices.contains(month - 1) && (1...lengths[month - 1]).contains(day)
    }
}
