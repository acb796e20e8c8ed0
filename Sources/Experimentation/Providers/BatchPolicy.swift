/// When events are sent, how many at once, how often, and for how long.
public struct BatchPolicy: Sendable, Hashable {
    /// How many events wait before they are sent without waiting for ``interval``; 1 sends each at once.
    public var count: Int
    /// How many events go into one delivery at most.
    public var largest: Int
    /// How many bytes of stored events go into one delivery at most.
    public var bytes: Int
    /// How long an event waits at most before it is sent.
    public var interval: Duration
    /// How many attempts an event has that fails for a reason of its own.
    public var attempts: Int
    /// How old an event may be when it is sent; `nil` for any age.
    ///
    /// Older ones are dropped and counted as `expired`.
    public var maximumAge: Duration?
    /// How fast the adapter sends at most, which it sees to itself; `nil` for no limit.
    ///
    /// Known, so that what waits for its turn can be told from what a vendor doesn't answer.
    public var pace: Pace?

    /// So many requests in an interval.
    public struct Pace: Sendable, Hashable {
        /// How many requests fit into ``interval``.
        public var requests: Int
        /// The interval.
        public var interval: Duration

        /// Creates a pace.
        public init(requests: Int, per interval: Duration) {
            self.requests = requests
            self.interval = interval
        }
    }

    /// Creates a policy.
    public init(
        count: Int = 10,
        largest: Int = 100,
        bytes: Int = 500_000,
        interval: Duration = .seconds(5),
        attempts: Int = 3,
        maximumAge: Duration? = nil,
        pace: Pace? = nil
    ) {
        self.count = count
        self.largest = largest
        self.bytes = bytes
        self.interval = interval
        self.attempts = attempts
        self.maximumAge = maximumAge
        self.pace = pace
    }
}
