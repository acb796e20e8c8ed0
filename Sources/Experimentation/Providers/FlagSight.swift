/// A flag that a user saw because of an experiment's variation; one exposure may cover several of these.
public struct FlagSight: Sendable, Hashable {
    /// The user at that moment.
    public let user: User
    /// What was seen.
    public let exposure: Exposure
    /// Whether it is recorded as an exposure; if not, an earlier one covers it.
    public let isRecorded: Bool

    /// Creates a sight.
    public init(user: User, exposure: Exposure, isRecorded: Bool) {
        self.user = user
        self.exposure = exposure
        self.isRecorded = isRecorded
    }
}
