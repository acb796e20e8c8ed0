import Foundation

/// What waits in an outbox.
public struct OutboxStatus: Sendable, Hashable, Codable {
    /// The number of events that could be delivered now.
    public var ready: Int
    /// The number of events held for consent.
    public var held: Int
    /// The number of events that wait after a failure, their own or the vendor's.
    public var delayed: Int
    /// The number of leased events.
    public var leased: Int
    /// The size of the waiting events in bytes.
    public var bytes: Int
    /// When the first waiting event, in the order of acceptance, happened; in a sum of several destinations, the
    /// earliest of these.
    public var oldest: Date?
    /// When the next delayed event may be tried.
    public var nextAttempt: Date?
    /// The latest reasons for failure, with the number of events for each.
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

    /// The number of events that wait only for delivery.
    public var deliverable: Int { ready + delayed + leased }
}
