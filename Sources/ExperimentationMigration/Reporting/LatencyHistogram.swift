/// How long things took, in powers of two: bounded, and good enough to compare two vendors.
public struct LatencyHistogram: Sendable, Hashable {
    private var buckets = [Int](repeating: 0, count: 40)
    /// How many there were.
    public private(set) var count = 0

    /// Creates an empty one.
    public init() {}

    /// Counts one.
    public mutating func add(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let micros = max(seconds, 0) &* 1_000_000 &+ attoseconds / 1_000_000_000_000
        buckets[min(63 - max(micros, 1).leadingZeroBitCount, buckets.count - 1)] += 1
        count += 1
    }

    /// The duration that a share of them stayed below, to a factor of two; zero if there were none.
    public func quantile(_ share: Double) -> Duration {
        var left = Int((Double(count) * share).rounded(.up))
        for (power, number) in buckets.enumerated() where number > 0 {
            left -= number
            if left <= 0 { return .microseconds(Int64(1) << (power + 1)) }
        }
        return .zero
    }
}
