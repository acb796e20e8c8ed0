/// Where a vendor takes events.
public protocol EventSink: Sendable {
    /// When events are sent, how many at once, and for how long.
    var batching: BatchPolicy { get }

    /// Checks that the vendor supports an event and would take it.
    ///
    /// Called before the event is accepted; must be pure and quick.
    ///
    /// - Throws: ``ErrorCode/unsupported`` or ``ErrorCode/invalidArgument``; the ledger is then unchanged.
    func check(_ event: TrackingEvent) throws(ExperimentationError)

    /// Sends events in this order, and reports the outcome of each.
    ///
    /// A user's later event isn't sent once an earlier one is to be retried: the order of each user's events is kept,
    /// whatever fails.
    ///
    /// Don't retry: the outbox does. The call must end by itself, so every request needs a deadline. If the task is
    /// cancelled, events without a verdict are retried.
    ///
    /// - Parameter batch: The events of one batch, oldest first.
    /// - Returns: A verdict on each event, in the order of the batch, and the rest of the answer.
    func deliver(_ batch: [Envelope]) async -> DeliveryReport
}

/// A destination and the sink that delivers to it.
public struct EventRoute: Sendable {
    /// The destination that the events are owed to.
    public var destination: Destination
    /// The sink that delivers them.
    public var sink: any EventSink
    /// Whether unknown consent holds events back.
    public var needsConsent: Bool
    /// Whether the provider's kill switch stops deliveries on this route; if not, the sink has a switch of its own, or
    /// none.
    public var heedsKillSwitch = true

    /// Creates a route.
    public init(to destination: Destination, by sink: any EventSink, needsConsent: Bool = false) {
        self.destination = destination
        self.sink = sink
        self.needsConsent = needsConsent
    }
}

/// Turns a vendor's anonymous users into known ones, where that takes several remote steps.
public protocol IdentityLinker: Sendable {
    /// Takes one remote step of a link and returns the progress.
    ///
    /// The client stores the progress after each step and calls again until it is complete, in a later run if need be,
    /// so every step must be repeatable.
    ///
    /// - Throws: Why the step failed; the progress stays as it was.
    func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress
}

/// The progress of a link.
public struct LinkProgress: Sendable, Hashable, Codable {
    /// The user before the link.
    public var from: Identity
    /// The user after the link; the linker may change it if the vendor decides which ids survive.
    public var to: Identity
    /// Facts by which the vendor finds the user, where that isn't the id, by name: an address or a customer number.
    public var criteria: [String: String]
    /// The linker's own notes, opaque to the client.
    public var notes: [UInt8]
    /// Whether nothing is left to do.
    public var isComplete: Bool

    /// Creates the progress of a link that begins.
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
