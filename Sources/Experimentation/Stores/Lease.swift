import Foundation

/// What a deliverer wants of a store: whose events, how many batches of which size, and for how long.
public struct LeaseRequest: Sendable, Hashable {
    /// Whose events.
    public var destination: Destination
    /// Who asks: a number other than 0 of each deliverer's own, whatever process it is in.
    public var owner: Int64
    /// How many batches at most.
    public var batches: Int
    /// How many events a batch has at most.
    public var count: Int
    /// How many stored bytes a batch has at most; one event is always given.
    public var bytes: Int
    /// The time.
    public var now: Date
    /// When the lease ends by itself.
    public var until: Date
    /// The lease to go on with, behind what was given under it.
    ///
    /// `nil` begins at the front, which takes the lane if it is free.
    public var token: LeaseToken?

    /// Creates a request.
    public init(
        for destination: Destination,
        owner: Int64,
        batches: Int = 1,
        of count: Int,
        bytes: Int = .max,
        now: Date,
        until: Date,
        after token: LeaseToken? = nil
    ) {
        self.destination = destination
        self.owner = owner
        self.batches = batches
        self.count = count
        self.bytes = bytes
        self.now = now
        self.until = until
        self.token = token
    }
}

/// What a store answers to a request for a lane.
public enum LeaseAnswer: Sendable, Hashable {
    /// The lane and the next batches, none of them empty; no batches if a lease is gone on with and there is no more.
    case leased(Lease)
    /// Nothing may be delivered, and the lane is free.
    ///
    /// - Parameter until: When the next event may be tried, if one waits for that.
    case nothing(until: Date?)
    /// Another deliverer holds the lane.
    ///
    /// - Parameter until: When its lease ends, if it isn't renewed.
    case busy(until: Date)
    /// The vendor asked not to be called.
    ///
    /// - Parameter until: When it may be called again.
    case paused(until: Date)
    /// The lease that was to go on isn't current any more.
    case lost
}

/// The right to deliver a destination's events, with the first of them.
public struct Lease: Sendable, Hashable {
    /// Names the lease in what follows.
    public var token: LeaseToken
    /// The batches, oldest first.
    public var batches: [[Envelope]]

    /// Creates a lease.
    public init(token: LeaseToken, batches: [[Envelope]]) {
        self.token = token
        self.batches = batches
    }
}

/// Names a lease.
public struct LeaseToken: Sendable, Hashable {
    /// Whose lane it is.
    public var destination: Destination
    /// Grows whenever the lane changes hands.
    public var epoch: Int64
    /// Grows whenever something happens to an event that was given out.
    ///
    /// Consent is denied or granted, an earlier holder settles it late, or it is removed.
    public var revision: Int64

    /// Creates a token.
    public init(destination: Destination, epoch: Int64, revision: Int64) {
        self.destination = destination
        self.epoch = epoch
        self.revision = revision
    }
}

/// Why deliveries to a destination ended.
public struct DeliveryPause: Sendable, Hashable {
    /// Until when the vendor asks not to be called; `nil` if it may be called at any time.
    public var until: Date?
    /// What went wrong.
    public var reason: String
    /// The last event that was tried in vain, by its ``Envelope/sequence``.
    public var through: Int64

    /// Creates a pause.
    public init(until: Date? = nil, reason: String, through: Int64) {
        self.until = until
        self.reason = reason
        self.through = through
    }
}
