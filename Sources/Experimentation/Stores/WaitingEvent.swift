/// An event that waits in a store, and why it hasn't been delivered.
public struct WaitingEvent: Sendable, Hashable {
    /// The state of an event at one destination.
    public struct Delivery: Sendable, Hashable {
        /// Where the event goes.
        public var destination: Destination
        /// Whether it waits for consent.
        public var isHeld: Bool
        /// The number of attempts that failed because of the event itself.
        public var attempts: Int
        /// Why the last attempt failed, if there was one.
        public var reason: String?

        /// Creates a delivery.
        public init(to destination: Destination, isHeld: Bool = false, attempts: Int = 0, reason: String? = nil) {
            self.destination = destination
            self.isHeld = isHeld
            self.attempts = attempts
            self.reason = reason
        }
    }

    /// The event, with the attempts of the destination that has tried most often.
    public var envelope: Envelope
    /// The destinations that haven't received it, in the order in which the store first knew them.
    public var deliveries: [Delivery]

    /// Creates a waiting event.
    public init(envelope: Envelope, deliveries: [Delivery]) {
        self.envelope = envelope
        self.deliveries = deliveries
    }

    /// Whether it is held for consent at all its destinations.
    public var isHeld: Bool { deliveries.allSatisfy(\.isHeld) }
    /// Why the last attempt failed, at the first destination that made one.
    public var reason: String? { deliveries.lazy.compactMap(\.reason).first }
}
