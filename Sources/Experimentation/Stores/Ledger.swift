/// The outcomes of all events ever accepted; it balances at every moment.
///
/// `accepted == delivered + pending + purged + dropped`, whatever happens.
public struct Ledger: Sendable, Hashable, Codable {
    /// Why an event was dropped; open to others.
    public struct DropReason: RawRepresentable, Sendable, Hashable, Codable, CodingKeyRepresentable {
        /// The reason's written form, as in reports.
        public let rawValue: String
        /// Creates a reason from its written form.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The store was full.
        public static let overflow = DropReason(rawValue: "overflow")
        /// The event was older than the vendor accepts.
        public static let expired = DropReason(rawValue: "expired")
        /// The vendor refused it permanently.
        public static let rejected = DropReason(rawValue: "rejected")
        /// It used up its attempts.
        public static let exhausted = DropReason(rawValue: "exhausted")
        /// It couldn't be read back.
        public static let unreadable = DropReason(rawValue: "unreadable")
        /// Its destination was closed.
        public static let closed = DropReason(rawValue: "closed")
    }

    /// How many events were accepted.
    public var accepted: Int
    /// How many were delivered.
    public var delivered: Int
    /// How many are waiting, including those held for consent.
    public var pending: Int
    /// How many were removed because consent was withdrawn, or on request.
    public var purged: Int
    /// How many were dropped, by reason.
    public var dropped: [DropReason: Int]

    /// Creates a ledger.
    public init(
        accepted: Int = 0,
        delivered: Int = 0,
        pending: Int = 0,
        purged: Int = 0,
        dropped: [DropReason: Int] = [:]
    ) {
        self.accepted = accepted
        self.delivered = delivered
        self.pending = pending
        self.purged = purged
        self.dropped = dropped
    }

    /// Whether the accepted events equal the delivered, pending, purged and dropped ones.
    public var isBalanced: Bool {
        accepted == delivered + pending + purged + dropped.values.reduce(0, +)
    }

    /// Adds the ledger of another destination.
    public static func + (one: Ledger, other: Ledger) -> Ledger {
        Ledger(
            accepted: one.accepted + other.accepted,
            delivered: one.delivered + other.delivered,
            pending: one.pending + other.pending,
            purged: one.purged + other.purged,
            dropped: one.dropped.merging(other.dropped, uniquingKeysWith: +)
        )
    }
}

extension Ledger.DropReason: CustomStringConvertible {
    /// The written form.
    public var description: String { rawValue }
}
