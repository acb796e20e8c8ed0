/// When events are sent, how many at once, how often, and for how long.
///
/// ``count`` and ``interval`` begin deliveries, which go on until the store has nothing left to lease. An event
/// accepted after that again waits for others.
public struct BatchPolicy: Sendable, Hashable {
    /// How many waiting events trigger a delivery before ``interval`` has passed; 1 sends each at once.
    public var count: Int
    /// The maximum number of events in one delivery.
    public var largest: Int
    /// The maximum size of one delivery in bytes of stored events.
    public var bytes: Int
    /// How long an event waits at most before it is sent.
    public var interval: Duration
    /// How many attempts an event gets if it fails on its own.
    public var attempts: Int
    /// The maximum age of an event when it is sent; `nil` for any age.
    ///
    /// Older events are dropped and counted as `expired`.
    public var maximumAge: Duration?
    /// The rate limit that the adapter itself keeps; `nil` for none.
    ///
    /// Stated here so that events waiting for their turn can be distinguished from unanswered ones.
    public var pace: Pace?

    /// A number of requests per interval.
    public struct Pace: Sendable, Hashable {
        /// The number of requests per ``interval``.
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
