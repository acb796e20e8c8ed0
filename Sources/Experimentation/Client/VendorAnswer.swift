/// A vendor's answer for a user, and how often its kill switch had been turned on when it was asked.
struct VendorAnswer: Sendable {
    let answer: DecisionAnswer
    let throwings: Int
}
