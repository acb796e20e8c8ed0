/// Where a vendor takes events.
public protocol EventSink: Sendable {
    /// When events are sent, how many at once, and for how long.
    var batching: BatchPolicy { get }

    /// Checks that the vendor has a word for an event, and that the event is one that it would take.
    ///
    /// Called before the event is accepted; pure, and quick.
    ///
    /// - Throws: ``ErrorCode/unsupported`` or ``ErrorCode/invalidArgument``; the ledger isn't touched then.
    func check(_ event: TrackingEvent) throws(ExperimentationError)

    /// Sends events, in this order, and says of each what became of it.
    ///
    /// A user's later event isn't sent behind an earlier one that is to be tried again: the order of each user's events is
    /// kept, whatever fails.
    ///
    /// Never retries: the outbox does. It ends by itself: every request in it has a deadline. The task may be cancelled;
    /// what has no verdict then is retried.
    ///
    /// - Parameter batch: The events of one batch, the oldest first.
    /// - Returns: A verdict on each event, in the order of the batch, and what came back with the answer.
    func deliver(_ batch: [Envelope]) async -> DeliveryReport
}

/// A destination of events, and how they get there.
public struct EventRoute: Sendable {
    /// Whose events they are from then on.
    public var destination: Destination
    /// What delivers them.
    public var sink: any EventSink
    /// Whether unknown consent holds events back.
    public var needsConsent: Bool
    /// Whether the provider's kill switch stops deliveries on this route; otherwise the sink has a switch of its own, or none.
    public var heedsKillSwitch = true

    /// Creates a route.
    public init(to destination: Destination, by sink: any EventSink, needsConsent: Bool = false) {
        self.destination = destination
        self.sink = sink
        self.needsConsent = needsConsent
    }
}

/// How a vendor's anonymous users become known ones, where that takes several remote steps.
public protocol IdentityLinker: Sendable {
    /// Takes one remote step of a linking and says how far it has come.
    ///
    /// The client stores the progress after each step and calls again until it is complete, in a later run if need be.
    /// So a step must be one that can be taken again.
    ///
    /// - Throws: When the step wasn't taken; the progress stays where it was.
    func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress
}

/// How far a linking has come.
public struct LinkProgress: Sendable, Hashable, Codable {
    /// The user before.
    public var from: Identity
    /// The user after; the linker may change it when the vendor decides which ids survive.
    public var to: Identity
    /// What the vendor is asked to find the user by, where that isn't the id: column names and values, for example.
    public var criteria: [String: String]
    /// The linker's own notes, opaque to the client.
    public var notes: [UInt8]
    /// Whether there is nothing left to do.
    public var isComplete: Bool

    /// Creates the beginning of a linking.
    public init(
        from: Identity,
        to: Identity,
        criteria: [String: String] = [:],
        notes: [UInt8] = [],
        isComplete: Bool = false
    ) {
        self.from = from
        self.to = to
        self.criteria = criteria
        self.notes = notes
        self.isComplete = isComplete
    }
}
