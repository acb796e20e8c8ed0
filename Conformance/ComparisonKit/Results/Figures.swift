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

    /// The number of round trips: one for each request, and one for each new connection.
    public var roundTrips: Int { requests + connections }

    private enum CodingKeys: String, CodingKey {
        case requests, bytesSent, bytesReceived, connections, roundTrips
    }

    /// Reads the counts, from which the round trips follow.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            requests: try container.decode(Int.self, forKey: .requests),
            bytesSent: try container.decode(Int.self, forKey: .bytesSent),
            bytesReceived: try container.decode(Int.self, forKey: .bytesReceived),
            connections: try container.decode(Int.self, forKey: .connections)
        )
    }

    /// Writes the counts and the round trips.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(requests, forKey: .requests)
        try container.encode(bytesSent, forKey: .bytesSent)
        try container.encode(bytesReceived, forKey: .bytesReceived)
        try container.encode(connections, forKey: .connections)
        try container.encode(roundTrips, forKey: .roundTrips)
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
    /// The 99th percentile in milliseconds; `nil` with too few measurements.
    public var p99: Double?

    /// The minimum number of measurements for a median that is worth reporting.
    public static let fewestForMedian = 11
    /// The minimum number of measurements for a 99th percentile.
    public static let fewestForTail = 100

    /// Creates a latency.
    public init(p50: Double, p99: Double? = nil) {
        self.p50 = p50
        self.p99 = p99
    }

    /// Creates the latency of measurements; `nil` if there are none.
    public init?(of measured: [Duration]) {
        guard measured.count >= Self.fewestForMedian else { return nil }
        let sorted = measured.sorted()
        // The nearest rank: the least time that at least so many percent of the times don't exceed.
        func at(_ percent: Int) -> Double {
            let parts = sorted[(sorted.count * percent + 99) / 100 - 1].components
            let milliseconds = Double(parts.seconds) * 1000 + Double(parts.attoseconds) / 1e15
            return (milliseconds * 1000).rounded() / 1000
        }
        self.init(p50: at(50), p99: measured.count >= Self.fewestForTail ? at(99) : nil)
    }
}

/// How times were measured.
public struct Timing: Sendable, Hashable, Codable {
    /// How often each step was measured.
    public var rounds: Int
    /// The simulated round trip between the application and each vendor, in milliseconds; 0 if none was simulated.
    public var roundTripMilliseconds: Double

    /// Creates a description.
    public init(rounds: Int, roundTripMilliseconds: Double) {
        self.rounds = rounds
        self.roundTripMilliseconds = roundTripMilliseconds
    }
}

/// What happened to events during a step; only ``pending`` is the number after the step.
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
