import Experimentation

/// The traffic on the wire.
public struct Traffic: Sendable, Hashable, Codable {
    /// The number of requests.
    public var requests: Int
    /// The size of the requests in bytes, heads and bodies.
    public var bytesSent: Int
    /// The size of the answers in bytes, heads and bodies.
    public var bytesReceived: Int
    /// The number of connections opened.
    public var connections: Int

    /// Creates traffic; empty by default.
    public init(requests: Int = 0, bytesSent: Int = 0, bytesReceived: Int = 0, connections: Int = 0) {
        self.requests = requests
        self.bytesSent = bytesSent
        self.bytesReceived = bytesReceived
        self.connections = connections
    }

    mutating func add(_ other: Traffic) {
        requests += other.requests
        bytesSent += other.bytesSent
        bytesReceived += other.bytesReceived
        connections += other.connections
    }
}

/// The latency over several rounds.
public struct Latency: Sendable, Hashable, Codable {
    /// The median, in milliseconds.
    public var p50: Double
    /// The 99th percentile, in milliseconds.
    public var p99: Double

    /// Creates a latency.
    public init(p50: Double, p99: Double) {
        self.p50 = p50
        self.p99 = p99
    }

    /// Creates the latency of measurements; `nil` if there are none.
    public init?(of measured: [Duration]) {
        guard !measured.isEmpty else { return nil }
        let sorted = measured.sorted()
        func at(_ share: Double) -> Double {
            let index = Int((Double(sorted.count - 1) * share).rounded(.up))
            let parts = sorted[min(index, sorted.count - 1)].components
            let milliseconds = Double(parts.seconds) * 1000 + Double(parts.attoseconds) / 1e15
            return (milliseconds * 1000).rounded() / 1000
        }
        self.init(p50: at(0.5), p99: at(0.99))
    }
}

/// What happened to events during a step; only ``pending`` is the number after it.
public struct EventCount: Sendable, Hashable, Codable {
    /// The number of accepted events.
    public var accepted: Int
    /// The number of delivered events.
    public var delivered: Int
    /// The number of events that wait after the step.
    public var pending: Int
    /// The number of events removed because consent was withdrawn.
    public var purged: Int
    /// The number of dropped events.
    public var dropped: Int

    /// Creates a count.
    public init(accepted: Int = 0, delivered: Int = 0, pending: Int = 0, purged: Int = 0, dropped: Int = 0) {
        self.accepted = accepted
        self.delivered = delivered
        self.pending = pending
        self.purged = purged
        self.dropped = dropped
    }

    /// Creates the difference between two ledgers.
    public init(from before: Ledger, to after: Ledger) {
        self.init(
            accepted: after.accepted - before.accepted,
            delivered: after.delivered - before.delivered,
            pending: after.pending,
            purged: after.purged - before.purged,
            dropped: after.dropped.values.reduce(0, +) - before.dropped.values.reduce(0, +)
        )
    }
}
