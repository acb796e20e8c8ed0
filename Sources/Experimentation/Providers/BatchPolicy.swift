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

    /// Creates a policy.
    public init(
        count: Int = 10,
        largest: Int = 100,
        bytes: Int = 500_000,
        interval: Duration = .seconds(5),
        attempts: Int = 3,
        maximumAge: Duration? = nil
    ) {
        self.count = count
        self.largest = largest
        self.bytes = bytes
        self.interval = interval
        self.attempts = attempts
        self.maximumAge = maximumAge
    }
}
