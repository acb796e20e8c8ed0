import Experimentation
import Foundation

/// What the application lets the vendor's developers hear; nothing unless it is named.
///
/// The original reports by default. Here reports are opt-in.
public struct FlagshipReports: OptionSet, Sendable, Hashable {
    /// The kinds as bits.
    public let rawValue: Int
    /// Creates a set out of bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// How Flagship is set up: with each fetch of about two visitors of a thousand, and nothing of the visitor.
    public static let usage = FlagshipReports(rawValue: 1)
    /// What visitors do and what fails, while the vendor looks for a fault in the account: for the share of visitors that it
    /// asks for, and of these for those who have agreed.
    public static let troubleshooting = FlagshipReports(rawValue: 2)
}

// MARK: - Whose reports are wanted

extension FlagshipReports {
    /// Whether a visitor is among the few whose usage is reported today.
    ///
    /// - Parameters:
    ///   - visitorID: The visitor.
    ///   - date: The time.
    ///   - timeZone: The device's time zone, which says what day it is.
    /// - Returns: Whether it is reported.
    static func wantsUsage(of visitorID: String, at date: Date, in timeZone: TimeZone) -> Bool {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        let day = calendar.dateComponents([.year, .month, .day], from: date)
        let number = (day.year ?? 0) * 10_000 + (day.month ?? 0) * 100 + (day.day ?? 0)
        return FlagshipMurmur3.hash("\(visitorID)\(number)") % 1_000 <= 1
    }
}

extension AccountSettings.Troubleshooting {
    /// Whether the vendor wants to hear of a visitor now.
    ///
    /// A share of zero selects no visitor; the original takes one of a hundred too many.
    func wants(_ visitorID: String, at date: Date) -> Bool {
        guard let start = Self.date(startDate), let end = Self.date(endDate), start < date, date < end else {
            return false
        }
        return Int(FlagshipMurmur3.hash(visitorID + endDate) % 100) < traffic
    }

    /// A date as the vendor writes it: with and without milliseconds, with a letter for the zone or with digits.
    ///
    /// The original reads only those with milliseconds, which the vendor's server doesn't write.
    static func date(_ text: String) -> Date? {
        var text = text
        if let zone = text.lastIndex(where: { $0 == "+" || $0 == "-" }), text[zone...].count == 5,
            text[zone...].dropFirst().allSatisfy(\.isNumber), text.contains("T")
        {
            text.insert(":", at: text.index(zone, offsetBy: 3))
        }
        for style in [Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle()] {
            if let date = try? Date(text, strategy: style) { return date }
        }
        return nil
    }
}
