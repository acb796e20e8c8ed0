import Foundation

extension Date {
    /// The moment by ISO 8601, in UTC with milliseconds: `2026-11-21T10:00:00.000Z`.
    ///
    /// Rounded to the millisecond, so that a text that was read is written as it was; Foundation's style cuts.
    package var iso8601Milliseconds: String {
        addingTimeInterval(0.000_5).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
