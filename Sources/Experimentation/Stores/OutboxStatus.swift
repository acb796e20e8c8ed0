import Foundation

/// What waits in an outbox.
public struct OutboxStatus: Sendable, Hashable, Codable {
    /// How many events could be delivered now.
    public var ready: Int
    /// How many wait for consent.
    public var held: Int
    /// How many wait after a failure, their own or the vendor's.
    public var delayed: Int
    /// How many are in a deliverer's hands.
    public var leased: Int
    /// How many bytes the waiting events take.
    public var bytes: Int
    /// When the first of them, in the order of acceptance, happened.
    public var oldest: Date?
    /// When the next delayed one may be tried.
    public var nextAttempt: Date?
    /// The last reasons for failure, with how many events they belong to.
    public var failures: [String: Int]

    /// Creates a status.
    public init(
        ready: Int = 0,
        held: Int = 0,
        delayed: Int = 0,
        leased: Int = 0,
        bytes: Int = 0,
        oldest: Date? = nil,
        nextAttempt: Date? = nil,
        failures: [String: Int] = [:]
    ) {
        self.ready = ready
        self.held = held
        self.delayed = delayed
        self.leased = leased
        self.bytes = bytes
        self.oldest = oldest
        self.nextAttempt = nextAttempt
        self.failures = failures
    }

    /// How many wait for nothing but their delivery.
    public var deliverable: Int { ready + delayed + leased }
}
