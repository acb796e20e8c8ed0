/// What concurrent requests to a vendor must have in common to be combined into one.
struct SharedQuestion: Sendable, Hashable {
    var context: ContextDigest
    /// ``DecisionCache/removalCount(of:)``: a user who consents again doesn't get the answer to an earlier question.
    var removals: Int
}
