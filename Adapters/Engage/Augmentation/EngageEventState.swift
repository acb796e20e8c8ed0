/// The event statuses of the reference, by number.
public enum EngageEventState: Int, Sendable, Hashable, Codable, CaseIterable {
    /// Ready, waiting after a failure, or held for consent, which the reference doesn't have.
    case notPosted = 1
    /// The vendor has it.
    case successfullyPosted = 2
    /// It was refused permanently, or as often as allowed.
    case failedPost = 3
    /// Plug-ins are completing it.
    case hold = 4
    /// It continues without some plug-in and waits to be posted.
    case expired = 5
    /// It is being posted.
    case processing = 6
}
