/// A vendor's answer for a user, and what had happened when it was asked.
struct VendorAnswer: Sendable {
    let answer: DecisionAnswer
    /// How often the vendor's kill switch had been turned on.
    let throwings: Int
    /// The number of changes that the vendor had announced when it was asked.
    let changes: Int
}
