import Foundation

/// What somebody who delivers wants of a store: how many batches of which size, and for how long.
public struct LeaseRequest: Sendable, Hashable {
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
    /// Whether more is taken beside what was leased with the same ``now`` and has no settlement yet.
    ///
    /// Those events don't hold back the later ones of their users then: whoever asks delivers all of them in order. A
    /// store may give less, as if this were `false`.
    public var goesOn: Bool

    /// Creates a request.
    public init(
        batches: Int = 1,
        of count: Int,
        bytes: Int = .max,
        now: Date,
        until: Date,
        goesOn: Bool = false
    ) {
        self.batches = batches
        self.count = count
        self.bytes = bytes
        self.now = now
        self.until = until
        self.goesOn = goesOn
    }
}
