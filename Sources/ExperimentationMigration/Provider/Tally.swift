import Experimentation
import Synchronization

/// The counts of a move.
final class Tally: Sendable {
    struct State: Sendable {
        var compared = 0
        var observed: [Mismatch.Kind: Int] = [:]
        var confirmed: [Mismatch.Kind: Int] = [:]
        var recent: [Mismatch] = []
        var quiet: [String: Int] = [:]
        var latencies: [MigrationSide: LatencyHistogram] = [:]
        var pinned: [MigrationSide: Int] = [:]
        var exposures: [MigrationSide: Int] = [:]
        var unsupported: [MigrationSide: Int] = [:]
        var changed = 0
        var sides: SampleRatioTest?
        var allocations: [String: ArmCount] = [:]
        var exposed: [String: ArmCount] = [:]
    }

    /// The test of one experiment.
    struct ArmCount: Sendable {
        var arms: [String]
        var test: SampleRatioTest
    }

    /// The number of recent mismatches that are kept.
    static let mostRecent = 100
    /// How often an invisible mismatch is confirmed before it is only counted.
    private static let mostQuiet = 20

    private let state: Mutex<State>
    /// The most recent exposures by user, to count each once.
    private let seen = Mutex(RecentlyUsed<Bool>(limit: 100_000))
    private let mapping: Mapping
    /// The level of each test; together they raise a false alarm in at most one move of a thousand.
    let level: Double

    init(_ plan: MigrationPlan) {
        mapping = plan.mapping
        // One test of the sides; for each experiment with weights, one of first places and one of exposures.
        level = 0.001 / Double(1 + 2 * plan.mapping.experiments.count { !$0.weights.isEmpty })
        state = Mutex(State())
        restartSides(share: plan.share)
    }

    var snapshot: State { state.withLock { $0 } }

    /// Restarts the test of the sides after a change of the share.
    func restartSides(share: Double) {
        state.withLock { $0.sides = SampleRatioTest(weights: [1 - share, share]) }
    }

    // MARK: Comparing

    func add(compared: Int, latency: (MigrationSide, Duration)) {
        state.withLock { state in
            state.compared += compared
            state.latencies[latency.0, default: LatencyHistogram()].add(latency.1)
        }
    }

    func add(latency: Duration, of side: MigrationSide) {
        state.withLock { $0.latencies[side, default: LatencyHistogram()].add(latency) }
    }

    /// Counts a mismatch of the first look.
    ///
    /// - Returns: Whether it needs a second look.
    func observe(_ mismatch: Mismatch) -> Bool {
        state.withLock { state in
            state.observed[mismatch.kind, default: 0] += 1
            if mismatch.kind.isVisible { return true }
            return state.quiet["\(mismatch.kind)/\(mismatch.key)", default: 0] < Self.mostQuiet
        }
    }

    /// Counts a confirmed mismatch.
    func confirm(_ mismatch: Mismatch) {
        state.withLock { state in
            state.confirmed[mismatch.kind, default: 0] += 1
            if !mismatch.kind.isVisible { state.quiet["\(mismatch.kind)/\(mismatch.key)", default: 0] += 1 }
            if state.recent.count == Self.mostRecent { state.recent.removeFirst() }
            state.recent.append(mismatch)
        }
    }

    // MARK: Users and events

    func pin(_ side: MigrationSide) {
        state.withLock { state in
            state.pinned[side, default: 0] += 1
            state.sides?.count(arm: side == .old ? 0 : 1)
        }
    }

    /// Counts users' first places.
    func allocate(_ places: [String: Person.Place]) {
        state.withLock { state in
            for (key, place) in places { Self.count(place.variation, key, &state.allocations, mapping) }
        }
    }

    /// Counts a user who saw a changed variation.
    func change() { state.withLock { $0.changed += 1 } }

    func expose(_ assignment: Assignment, user: String, to side: MigrationSide) {
        let key = Person.key(ofGroup: assignment.group, at: side, in: mapping)
        let id = assignment.variation.id
        let variation = side == .new ? mapping.translate(id, ofGroup: assignment.group, from: .new) ?? id : id
        let mark = ExactText("\(StableKey(user).digest)/\(key)")
        let isFirst = seen.withLock { seen in
            guard seen.use(mark) == nil else { return false }
            seen.keep(true, for: mark, weighing: 1)
            return true
        }
        state.withLock { state in
            state.exposures[side, default: 0] += 1
            guard isFirst else { return }
            Self.count(variation, key, &state.exposed, mapping)
        }
    }

    func refuse(by side: MigrationSide) { state.withLock { $0.unsupported[side, default: 0] += 1 } }

    /// Whether any test raises an alarm.
    var isAlarming: Bool {
        state.withLock { state in
            (state.sides?.isAlarming(level: level) ?? false)
                || (state.allocations.values.map(\.test) + state.exposed.values.map(\.test)).contains {
                    $0.isAlarming(level: level)
                }
        }
    }

    private static func count(
        _ variation: String,
        _ key: String,
        _ counts: inout [String: ArmCount],
        _ mapping: Mapping
    ) {
        if counts[key] == nil {
            guard key.hasPrefix("old/"),
                let mapped = mapping.experiment(ofGroup: String(key.dropFirst(4)), at: .old), !mapped.weights.isEmpty
            else { return }
            let arms = mapped.weights.keys.sorted()
            guard let test = SampleRatioTest(weights: arms.map { mapped.weights[$0] ?? 0 }) else { return }
            counts[key] = ArmCount(arms: arms, test: test)
        }
        guard let arm = counts[key]?.arms.firstIndex(of: variation) else { return }
        counts[key]?.test.count(arm: arm)
    }
}

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
