import Experimentation
import Foundation

/// The reports that may go to the vendor's developers; none by default.
///
/// The original reports by default. Here reports are opt-in.
public struct FlagshipReports: OptionSet, Sendable, Hashable {
    /// The kinds as bits.
    public let rawValue: Int
    /// Creates a set from bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Flagship's set-up: with each fetch of about two visitors in a thousand, and nothing about the visitor.
    public static let usage = FlagshipReports(rawValue: 1)
    /// Visitors' actions and failures, while the vendor is troubleshooting the account: for the share of visitors that
    /// it asks for, and of these only those who have consented.
    public static let troubleshooting = FlagshipReports(rawValue: 2)
}

// MARK: - Selection of visitors

extension FlagshipReports {
    /// Whether a visitor is among the few whose usage is reported on this day in the device's time zone.
    static func wantsUsage(of visitorID: String, at date: Date, in timeZone: TimeZone) -> Bool {
        let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeZone: timeZone)
        return FlagshipMurmur3.hash(visitorID + date.formatted(style.year().month().day())) % 1_000 <= 1
    }
}

extension AccountSettings.Troubleshooting {
    /// Whether the vendor currently wants reports about a visitor.
    ///
    /// A share of zero selects no visitor; the original selects one in a hundred too many.
    func wants(_ visitorID: String, at date: Date) -> Bool {
        guard let start = Self.date(startDate), let end = Self.date(endDate), start < date, date < end else {
            return false
        }
        return Int(FlagshipMurmur3.hash(visitorID + endDate) % 100) < traffic
    }

    /// Parses a date in the vendor's notations: with or without milliseconds, with a letter for the zone or with
    /// digits.
    ///
    /// The original parses only those with milliseconds, which the vendor's server doesn't write.
    static func date(_ text: String) -> Date? {
        let zones: [Date.ISO8601FormatStyle.TimeZoneSeparator] = [.colon, .omitted]
        let styles = [true, false].flatMap { hasFraction in
            zones.map { Date.ISO8601FormatStyle(timeZoneSeparator: $0, includingFractionalSeconds: hasFraction) }
        }
        return styles.lazy.compactMap { try? Date(text, strategy: $0) }.first
    }
}
