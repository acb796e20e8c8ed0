import Foundation

extension Date {
    /// The date in ISO 8601, in UTC with milliseconds: `2026-11-21T10:00:00.000Z`.
    ///
    /// Rounded to the millisecond, so that a parsed date is written back unchanged; Foundation's style truncates.
    package var iso8601Milliseconds: String {
        addingTimeInterval(0.000_5).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
