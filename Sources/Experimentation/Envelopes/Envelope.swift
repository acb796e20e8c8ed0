import Foundation

/// An accepted event: what happened, to which user and when, with everything that delivery needs.
public struct Envelope: Sendable, Hashable, Codable, Identifiable {
    /// The event's id, the same in every attempt.
    ///
    /// Vendors get it if their wire has room for it.
    public var id: String
    /// The position in the order of acceptance; set by the store.
    public var sequence: Int64
    /// The user's identity at that moment.
    public var identity: Identity
    /// The id of the session it happened in.
    public var session: String
    /// The part of the application it happened in, for campaigns to be shown there; `nil` for the whole application.
    public var surface: String?
    /// The targets of ``surface`` that had campaign handlers at that moment, sorted; `nil` if there were none.
    public var campaignTargets: [String]?
    /// What happened.
    public var event: TrackingEvent
    /// When it happened.
    public var date: Date
    /// Attributes that changed since the user's last event, for vendors that learn of them that way; ``FlagValue/null``
    /// for a removed one.
    public var attributeChanges: Attributes
    /// The number of attempts that failed because of the event itself.
    public var attempts: Int

    /// Creates an envelope.
    public init(
        id: String,
        sequence: Int64 = 0,
        identity: Identity,
        session: String = "",
        surface: String? = nil,
        campaignTargets: [String]? = nil,
        event: TrackingEvent,
        date: Date,
        attributeChanges: Attributes = [:],
        attempts: Int = 0
    ) {
        self.id = id
        self.sequence = sequence
        self.identity = identity
        self.session = session
        self.surface = surface
        self.campaignTargets = campaignTargets
        self.event = event
        self.date = date
        self.attributeChanges = attributeChanges
        self.attempts = attempts
    }
}

extension Sequence<Envelope> {
    /// A name for a batch by its events, for vendors whose wire takes an idempotency key.
    ///
    /// The same events in the same order have the same name in any process, and a batch that got no answer is sent
    /// again unchanged. A digest of 64 hexadecimal digits; costs about a microsecond per event.
    public var batchName: String { Digest.hex(map(\.id)) }
}
