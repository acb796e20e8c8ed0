import Experimentation
import Foundation

/// The reports that may go to the vendor's developers; none by default.
///
/// The original SDK reports by default; here, reports are opt-in.
public struct FlagshipReports: OptionSet, Sendable, Hashable {
    /// The kinds as bits.
    public let rawValue: Int
    /// Creates a set from bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Flagship's configuration, with each fetch of about two visitors in a thousand; nothing about the visitor.
    public static let usage = FlagshipReports(rawValue: 1)
    /// Visitors' actions and failures, while the vendor is troubleshooting the account: for the share of visitors that
    /// it asks for, and of these only those who have consented.
    public static let troubleshooting = FlagshipReports(rawValue: 2)

    /// The kinds by their names in a configuration file.
    static let named = ["usage": usage, "troubleshooting": troubleshooting]
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
    /// A share of zero selects no visitor; the original selects one in a hundred too many. It also parses only dates
    /// with milliseconds, which the vendor's server doesn't write.
    func wants(_ visitorID: String, at date: Date) -> Bool {
        guard let start = Date(iso8601: startDate), let end = Date(iso8601: endDate), start < date, date < end else {
            return false
        }
        return Int(FlagshipMurmur3.hash(visitorID + endDate) % 100) < traffic
    }
}
