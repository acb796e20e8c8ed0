import Experimentation
import Synchronization

/// What a move counts.
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

    /// How many mismatches of the newest are kept.
    static let mostRecent = 100
    /// How often a mismatch that nobody could notice is confirmed before it is only counted.
    private static let mostQuiet = 20

    private let state: Mutex<State>
    /// Who was exposed to what, of the users who came last.
    private let seen = Mutex(RecentlyUsed<Bool>(limit: 100_000))
    private let mapping: Mapping
    /// The level of each test: together they alarm falsely in at most one move of a thousand.
    let level: Double

    init(_ plan: MigrationPlan) {
        mapping = plan.mapping
        // The sides, and of each experiment with weights its first places and its exposures.
        level = 0.001 / Double(1 + 2 * plan.mapping.experiments.count { !$0.weights.isEmpty })
        state = Mutex(State())
        restartSides(share: plan.share)
    }

    var snapshot: State { state.withLock { $0 } }

    /// Begins the test of the two sides anew, because the share has changed.
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

    /// Counts a mismatch that was seen once.
    ///
    /// - Returns: Whether it is worth a second look.
    func observe(_ mismatch: Mismatch) -> Bool {
        state.withLock { state in
            state.observed[mismatch.kind, default: 0] += 1
            if mismatch.kind.isVisible { return true }
            return state.quiet["\(mismatch.kind)/\(mismatch.key)", default: 0] < Self.mostQuiet
        }
    }

    /// Counts a mismatch that is one.
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

    /// Counts places that users have got for the first time.
    func allocate(_ places: [String: Person.Place]) {
        state.withLock { state in
            for (key, place) in places { Self.count(place.variation, key, &state.allocations, mapping) }
        }
    }

    /// Counts a user who saw another variation than before.
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

    /// Whether users fall otherwise than they should, anywhere.
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
