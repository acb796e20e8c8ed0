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
    public var envelope: Envelope { content.envelope }
    /// The destinations that it is owed to: at least one, and each once.
    public var deliveries: [Delivery]
    /// Whether its user grants consent with it: in the same transaction and before this event, a denial ends and held
    /// events are released.
    ///
    /// Consent is granted even if the event itself is refused.
    public var grantsConsent: Bool
    private let content: Content

    /// What an event is; shared by its copies, because it is large and is copied several times on its way.
    private final class Content: Sendable {
        let envelope: Envelope
        /// The event as stores write it, or why it can't be written.
        let written: Result<[UInt8], ExperimentationError>

        init(_ envelope: Envelope) {
            self.envelope = envelope
            written = Result { () throws(ExperimentationError) in
                var envelope = envelope
                envelope.sequence = 0
                return try EnvelopeCoding.encode(envelope)
            }
        }
    }

    /// Creates an event, and writes it down as stores do, which takes a few microseconds.
    ///
    /// It does so here and not in the store, because a store takes many callers' events one after another.
    public init(_ envelope: Envelope, owedTo deliveries: [Delivery], grantsConsent: Bool = false) {
        self.deliveries = deliveries
        self.grantsConsent = grantsConsent
        content = Content(envelope)
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

extension NewEvent {
    /// Returns the event as stores write it: its envelope without a place in the order.
    ///
    /// - Parameter limit: How many bytes it may take.
    /// - Returns: The bytes.
    /// - Throws: ``ErrorCode/tooLarge`` above the limit, ``ErrorCode/invalidArgument`` for what JSON can't hold.
    @_spi(StoredForm) public func stored(limit: Int) throws(ExperimentationError) -> [UInt8] {
        let bytes = try content.written.get()
        try EnvelopeCoding.check(bytes.count, of: content.envelope, limit: limit)
        return bytes
    }

    /// Whether two events are the same; what is written follows from the envelope.
    public static func == (first: NewEvent, second: NewEvent) -> Bool {
        first.envelope == second.envelope && first.deliveries == second.deliveries
            && first.grantsConsent == second.grantsConsent
    }

    /// Hashes what equality compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(envelope)
        hasher.combine(deliveries)
        hasher.combine(grantsConsent)
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
