import Foundation

/// An event of the store, as the reference's queries return it.
public struct EngageEvent: Sendable, Hashable, Identifiable {
    /// The id that `UserSession.trackWithID(_:at:on:)` returned.
    public var id: String
    /// Its kind.
    public var type: BehaviorType
    /// When it happened.
    public var date: Date
    /// Its state.
    public var state: EngageEventState
    /// Why it hasn't been delivered yet, or why it was dropped.
    public var reason: String?
}

/// The event statuses of the reference, by number.
public enum EngageEventState: Int, Sendable, Hashable, Codable, CaseIterable {
    /// Ready, waiting after a failure, or held for consent, which the reference doesn't have.
    case notPosted = 1
    /// The vendor has accepted it.
    case successfullyPosted = 2
    /// It was refused permanently, or as often as allowed.
    case failedPost = 3
    /// Plug-ins are completing it.
    case hold = 4
    /// It continues without some plug-in's additions and waits to be posted.
    case expired = 5
    /// It is being posted.
    case processing = 6
}
