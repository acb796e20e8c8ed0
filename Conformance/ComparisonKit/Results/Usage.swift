import Experimentation

/// How an application is used in a month, to determine the cost with each vendor.
public struct Usage: Sendable, Hashable, Codable {
    /// How many people use it.
    public var monthlyUsers: Int
    /// How many sessions each of them has in the month.
    public var sessions: Int
    /// How many flags are read in a session.
    public var reads: Int
    /// How many events are tracked in a session.
    public var events: Int

    /// Creates a usage.
    public init(monthlyUsers: Int, sessions: Int = 8, reads: Int = 20, events: Int = 10) {
        self.monthlyUsers = monthlyUsers
        self.sessions = sessions
        self.reads = reads
        self.events = events
    }
}

/// The cost of a month with one vendor, counted in sessions that were run against its mock.
public struct MonthlyCost: Sendable, Hashable, Codable {
    /// The number of requests.
    public var requests: Int
    /// The size of the requests in bytes, heads and bodies.
    public var bytesSent: Int
    /// The size of the answers in bytes, heads and bodies.
    public var bytesReceived: Int
    /// The number of events that the vendor takes, including exposures and its own signals; `nil` if it takes none at
    /// all.
    ///
    /// What a contract charges for, and whether by event or by user, isn't known here.
    public var billedEvents: Int?
    /// A user's first session of the month, on a device that has nothing yet.
    public var firstSession: SessionCost
    /// The mean of the later sessions, on a device that keeps the first one's state.
    public var laterSession: SessionCost?

    /// The cost of one session.
    public struct SessionCost: Sendable, Hashable, Codable {
        /// The number of requests.
        public var requests: Double
        /// The size of the requests in bytes.
        public var bytesSent: Double
        /// The size of the answers in bytes.
        public var bytesReceived: Double
        /// The number of events that arrive.
        public var events: Double

        /// Creates the cost of a session.
        public init(requests: Double = 0, bytesSent: Double = 0, bytesReceived: Double = 0, events: Double = 0) {
            self.requests = requests
            self.bytesSent = bytesSent
            self.bytesReceived = bytesReceived
            self.events = events
        }

        /// The mean of some sessions; `nil` without any.
        init?(meanOf sessions: [SessionCost]) {
            guard !sessions.isEmpty else { return nil }
            func mean(_ part: (SessionCost) -> Double) -> Double {
                sessions.reduce(0) { $0 + part($1) } / Double(sessions.count)
            }
            self.init(
                requests: mean(\.requests),
                bytesSent: mean(\.bytesSent),
                bytesReceived: mean(\.bytesReceived),
                events: mean(\.events)
            )
        }
    }

    /// Calculates the cost of a month.
    ///
    /// - Parameters:
    ///   - usage: How the application is used.
    ///   - first: A user's first session.
    ///   - later: The sessions after it, as many as were played.
    ///   - takesEvents: Whether the vendor takes events at all.
    public init(of usage: Usage, first: SessionCost, later: [SessionCost], takesEvents: Bool) {
        let mean = SessionCost(meanOf: later)
        func whole(_ part: (SessionCost) -> Double) -> Int {
            let user = part(first) + (mean.map(part) ?? 0) * Double(max(0, usage.sessions - 1))
            let month = (user * Double(usage.monthlyUsers)).rounded()
            return Int(exactly: month) ?? .max
        }
        requests = whole(\.requests)
        bytesSent = whole(\.bytesSent)
        bytesReceived = whole(\.bytesReceived)
        billedEvents = takesEvents ? whole(\.events) : nil
        firstSession = first
        laterSession = mean
    }
}
