/// An event that waits in a store, and why it hasn't been delivered.
public struct WaitingEvent: Sendable, Hashable {
    /// The event.
    public var envelope: Envelope
    /// Whether it waits for consent.
    public var isHeld: Bool
    /// Why the last attempt failed, if there was one.
    public var reason: String?

    /// Creates a waiting event.
    public init(envelope: Envelope, isHeld: Bool = false, reason: String? = nil) {
        self.envelope = envelope
        self.isHeld = isHeld
        self.reason = reason
    }
}
