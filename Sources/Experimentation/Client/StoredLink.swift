/// The stored form of a link in progress.
struct StoredLink: Codable, Sendable {
    /// The identity that the application asked for; the linker may continue with other ids.
    var to: Identity
    /// The criteria that the application asked for.
    var criteria: [String: String]
    /// The progress so far.
    var progress: LinkProgress

    init(from: Identity, to: Identity, criteria: [String: String]) {
        self.to = to
        self.criteria = criteria
        progress = LinkProgress(from: from, to: to, criteria: criteria)
    }

    /// Whether a call with these arguments resumes this link.
    func asksFor(_ to: Identity, _ criteria: [String: String]) -> Bool { self.to == to && self.criteria == criteria }
}
