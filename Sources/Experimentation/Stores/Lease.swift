import Foundation

/// A deliverer's request to a store: whose events, how many batches of what size, and for how long.
public struct LeaseRequest: Sendable, Hashable {
    /// The destination of the events.
    public var destination: Destination
    /// The deliverer that asks: a number other than 0 that is unique to it across processes.
    public var owner: Int64
    /// The maximum number of batches.
    public var batches: Int
    /// The maximum number of events in a batch.
    public var count: Int
    /// The maximum size of a batch in stored bytes; one event always fits.
    public var bytes: Int
    /// The time.
    public var now: Date
    /// When the lease expires.
    public var until: Date
    /// The lease to continue, after what was handed out under it.
    ///
    /// `nil` begins at the front and takes the lane if it is free.
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

/// A store's answer to a request for a lane.
public enum LeaseAnswer: Sendable, Hashable {
    /// The lane and the next batches, none of them empty; no batches if a lease is continued and nothing is left.
    case leased(Lease)
    /// Nothing may be delivered, and the lane is free.
    ///
    /// - Parameter until: When the next event may be tried, if one is waiting for that.
    case nothing(until: Date?)
    /// Another deliverer holds the lane.
    ///
    /// - Parameter until: When its lease expires, unless renewed.
    case busy(until: Date)
    /// The vendor asked for a pause.
    ///
    /// - Parameter until: When it may be called again.
    case paused(until: Date)
    /// The lease that was to be continued is no longer current.
    case lost
}

/// The right to deliver a destination's events, with the first of them.
public struct Lease: Sendable, Hashable {
    /// The lease's token, for later calls.
    public var token: LeaseToken
    /// The batches, oldest first.
    public var batches: [[Envelope]]
    /// What follows the last batch; `nil` if the store doesn't say.
    ///
    /// If `nil`, a round treats a batch with fewer events than it asked for as the last one, even if the batch only
    /// reached its limit of bytes. The rest is left to the next round.
    public var rest: Rest?

    /// What follows the last batch of a lease.
    public enum Rest: Sendable, Hashable {
        /// Something in this lane that may be delivered now.
        case more
        /// Nothing in this lane that may be delivered now; the store may have another lane of the destination.
        case otherLanes
        /// Nothing of the destination that may be delivered now. What is accepted later waits until it fills a batch,
        /// or has waited long enough.
        ///
        /// - Parameter until: When the next event may be tried, if one is waiting for that.
        case nothing(until: Date?)
    }

    /// Creates a lease.
    public init(token: LeaseToken, batches: [[Envelope]], rest: Rest? = nil) {
        self.token = token
        self.batches = batches
        self.rest = rest
    }
}

/// Identifies a lease.
public struct LeaseToken: Sendable, Hashable {
    /// The destination of the lane.
    public var destination: Destination
    /// Increases whenever the lane changes hands.
    public var epoch: Int64
    /// Increases whenever something happens to an event that was handed out.
    ///
    /// Its consent is denied or granted, an earlier holder settles it late, or it is removed.
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
    /// When the vendor may be called again; `nil` if at any time.
    public var until: Date?
    /// What went wrong.
    public var reason: String
    /// The last event that was tried unsuccessfully, by its ``Envelope/sequence``.
    public var through: Int64

    /// Creates a pause.
    public init(until: Date? = nil, reason: String, through: Int64) {
        self.until = until
        self.reason = reason
        self.through = through
    }
}
