/// What concurrent requests to a vendor have in common that are one.
struct SharedQuestion: Sendable, Hashable {
    var context: ContextDigest
    /// ``DecisionCache/removalCount(of:)``: an answer to a question from before a denial isn't for who consents again.
    var removals: Int
}
