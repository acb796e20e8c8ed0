/// An event on its way into a store.
public struct NewEvent: Sendable, Hashable {
    /// One destination of an event.
    public struct Delivery: Sendable, Hashable {
        /// Where the event goes.
        public var destination: Destination
        /// Whether it waits there until the user consents.
        public var isHeld: Bool

        /// Creates a delivery.
        public init(to destination: Destination, isHeld: Bool = false) {
            self.destination = destination
            self.isHeld = isHeld
        }
    }

    /// The event; its id is new.
    public var envelope: Envelope
    /// The destinations that it is owed to: at least one, and each once.
    public var deliveries: [Delivery]
    /// Whether its user grants consent with it: in the same transaction and before this event, a denial ends and held
    /// events are released.
    public var grantsConsent: Bool

    /// Creates an event.
    public init(_ envelope: Envelope, owedTo deliveries: [Delivery], grantsConsent: Bool = false) {
        self.envelope = envelope
        self.deliveries = deliveries
        self.grantsConsent = grantsConsent
    }

    /// Creates an event for one destination.
    public init(
        _ envelope: Envelope,
        to destination: Destination,
        isHeld: Bool = false,
        grantsConsent: Bool = false
    ) {
        self.init(
            envelope,
            owedTo: [Delivery(to: destination, isHeld: isHeld)],
            grantsConsent: grantsConsent
        )
    }
}

/// A change of a user's consent.
public struct ConsentChange: Sendable, Hashable {
    /// The id of the user.
    public var userID: String
    /// Whether it is granted; otherwise it is denied.
    public var isGranted: Bool

    /// Creates a change.
    public init(userID: String, isGranted: Bool) {
        self.userID = userID
        self.isGranted = isGranted
    }
}

/// The effect of changes of consent on waiting events.
public struct ConsentOutcome: Sendable, Hashable {
    /// How many deliveries were removed.
    public var removed: Int
    /// How many held deliveries were released.
    public var released: Int

    /// Creates an outcome.
    public init(removed: Int = 0, released: Int = 0) {
        self.removed = removed
        self.released = released
    }
}
