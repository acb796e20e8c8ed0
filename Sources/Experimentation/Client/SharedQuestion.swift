/// What concurrent requests to a vendor must have in common to be one.
struct SharedQuestion: Sendable, Hashable {
    var context: ContextDigest
    /// ``DecisionCache/removalCount(of:)``: a user who consents again doesn't get the answer to a question from before.
    var removals: Int
}
