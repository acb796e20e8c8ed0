/// A vendor's answer for a user, and how often its kill switch had been turned on when it was asked.
struct VendorAnswer: Sendable {
    let answer: DecisionAnswer
    let throwings: Int
    /// The number of changes that the vendor had told of when it was asked.
    let changes: Int
}
