import Foundation

/// An event on its way: what happened, to whom, when, and what is needed to deliver it just once more or less.
public struct Envelope: Sendable, Hashable, Codable, Identifiable {
    /// The event's id, the same in every attempt.
    ///
    /// Vendors whose wire has room for it get it.
    public var id: String
    /// The place in the order of acceptance; given by the store.
    public var sequence: Int64
    /// Who it was, at that moment.
    public var identity: Identity
    /// The session it happened in.
    public var session: String
    /// The part of the application it happened in, for campaigns that are to be shown there; `nil` for the whole.
    public var surface: String?
    /// What happened.
    public var event: TrackingEvent
    /// When it happened.
    public var date: Date
    /// Attributes that changed since the last event of this user, for vendors that learn of them that way;
    /// ``FlagValue/null`` where one was removed.
    public var attributeChanges: Attributes
    /// How many attempts have failed for a reason that lies in the event.
    public var attempts: Int

    /// Creates an envelope.
    public init(
        id: String,
        sequence: Int64 = 0,
        identity: Identity,
        session: String = "",
        surface: String? = nil,
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
        self.event = event
        self.date = date
        self.attributeChanges = attributeChanges
        self.attempts = attempts
    }
}

extension Sequence<Envelope> {
    /// Names a batch by its events, for vendors whose wire takes a name that tells a repetition.
    ///
    /// The same events in the same order have the same name in any process, and a batch that got no answer goes out again
    /// as it was. A digest of 64 hexadecimal digits; costs about a microsecond for each event.
    public var batchName: String { Digest.hex(map(\.id)) }
}
