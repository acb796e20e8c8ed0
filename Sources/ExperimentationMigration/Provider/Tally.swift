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
        var arms = Arms()
        var armsByStage: [MigrationStage: Arms] = [:]
    }

    /// The tests of all experiments, by their keys.
    struct Arms: Sendable {
        var allocations: [String: ArmCount] = [:]
        var exposed: [String: ArmCount] = [:]

        func isAlarming(level: Double) -> Bool {
            allocations.values.contains { $0.test.isAlarming(level: level) }
                || exposed.values.contains { $0.test.isAlarming(level: level) }
        }
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
    private let counted: Mutex<CountedUsers>
    private let mapping: Mapping
    /// The level of each test over the whole move; together with those of the stages they raise a false alarm in at most one
    /// move of a thousand.
    let level: Double
    /// The level of each test over one stage.
    let stageLevel: Double

    init(_ plan: MigrationPlan, countingUsers most: Int = 100_000) {
        mapping = plan.mapping
        counted = Mutex(CountedUsers(limit: most))
        // One half is for the sides and, of each experiment with weights, its first places and its exposures; the other
        // for the same places and exposures in each stage.
        let tests = 2 * plan.mapping.experiments.count { !$0.weights.isEmpty }
        level = 0.0005 / Double(1 + tests)
        stageLevel = 0.0005 / Double(max(tests, 1) * MigrationStage.allCases.count)
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
    func allocate(_ places: [String: Person.Place], in stage: MigrationStage) {
        state.withLock { state in
            for (key, place) in places {
                Self.count(place.variation, key, &state.arms.allocations, mapping)
                Self.count(place.variation, key, &state.armsByStage[stage, default: Arms()].allocations, mapping)
            }
        }
    }

    /// Counts a user who saw a changed variation.
    func change() { state.withLock { $0.changed += 1 } }

    /// Counts an exposure; the tests count a user once, and once in each stage.
    func expose(_ assignment: Assignment, user: String, to side: MigrationSide, in stage: MigrationStage) {
        let key = Person.key(ofGroup: assignment.group, at: side, in: mapping)
        let id = assignment.variation.id
        let variation = side == .new ? mapping.translate(id, ofGroup: assignment.group, from: .new) ?? id : id
        let isFirst = counted.withLock { $0.count(user, in: key, at: stage) }
        state.withLock { state in
            state.exposures[side, default: 0] += 1
            if isFirst.ever { Self.count(variation, key, &state.arms.exposed, mapping) }
            if isFirst.inStage {
                Self.count(variation, key, &state.armsByStage[stage, default: Arms()].exposed, mapping)
            }
        }
    }

    func refuse(by side: MigrationSide) { state.withLock { $0.unsupported[side, default: 0] += 1 } }

    /// Whether any test raises an alarm.
    var isAlarming: Bool {
        state.withLock { state in
            (state.sides?.isAlarming(level: level) ?? false) || state.arms.isAlarming(level: level)
                || state.armsByStage.values.contains { $0.isAlarming(level: stageLevel) }
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
