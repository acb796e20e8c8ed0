import Foundation

/// The value of the stage flag that a move followed last.
///
/// Instances see a change of the flag at different moments, up to the lifetime of their rules apart. So a value counts
/// only if the vendor was asked for it after it was asked for the followed one.
struct FollowedFlag: Sendable, Hashable, Codable {
    var value: String
    /// When the vendor was asked for it, at the latest.
    var asked: Date
    /// The value before it; `nil` for none.
    var replaced: String?
    /// How far the clocks of instances, or the answers of a vendor's machines, may be apart.
    private static let tolerance: TimeInterval = 10

    /// Creates the record of a value that is followed.
    init(_ value: String, asked: ClosedRange<Date>, after followed: FollowedFlag? = nil) {
        (self.value, self.asked) = (value, asked.upperBound)
        replaced = followed?.value
    }

    /// Whether another value is a later change, and not one that an instance still has from before.
    func isChanged(to other: String, asked dates: ClosedRange<Date>, now: Date) -> Bool {
        guard other != value else { return false }
        // A clock that was wrong must not keep everyone from following the flag.
        if asked.timeIntervalSince(now) > Self.tolerance { return true }
        return dates.lowerBound.timeIntervalSince(asked) > (other == replaced ? Self.tolerance : 0)
    }
}
