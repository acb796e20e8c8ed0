/// A histogram of durations by powers of two: bounded, and precise enough to compare two vendors.
public struct LatencyHistogram: Sendable, Hashable {
    private var buckets = [Int](repeating: 0, count: 40)
    /// The number of durations.
    public private(set) var count = 0

    /// Creates an empty histogram.
    public init() {}

    /// Adds a duration.
    public mutating func add(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let micros = max(seconds, 0) &* 1_000_000 &+ attoseconds / 1_000_000_000_000
        buckets[min(63 - max(micros, 1).leadingZeroBitCount, buckets.count - 1)] += 1
        count += 1
    }

    /// Returns the duration below which a share of them lies, to a factor of two; zero if empty.
    public func quantile(_ share: Double) -> Duration {
        var left = Int((Double(count) * share).rounded(.up))
        for (power, number) in buckets.enumerated() where number > 0 {
            left -= number
            if left <= 0 { return .microseconds(Int64(1) << (power + 1)) }
        }
        return .zero
    }
}
