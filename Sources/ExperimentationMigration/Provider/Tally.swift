import Experimentation
import Synchronization

/// The counts of a move.
final class Tally: Sendable {
    struct State: Sendable {
        var compared = 0
        var observed: [Mismatch.Kind: Int] = [:]
        var confirmed: [Mismatch.Kind: Int] = [:]
        var undecided: [Mismatch.Kind: Int] = [:]
        var recent: [Mismatch] = []
        var quiet: [String: Int] = [:]
        var latencies: [MigrationSide: LatencyHistogram] = [:]
        var pinned: [MigrationSide: Int] = [:]
        var exposures: [MigrationSide: Int] = [:]
        var unsupported: [MigrationSide: Int] = [:]
        /// The part of them that isn't in the store yet.
        var unwritten: [MigrationSide: Int] = [:]
        var changed = 0
        var sides: Sides?
        /// Whether any test has ever raised an alarm.
        var isAlarming = false
        var arms = Arms()
        var armsByStage: [MigrationStage: Arms] = [:]
    }

    /// The test of the sides, at a share.
    struct Sides: Sendable {
        var share: Double
        var test: SampleRatioTest
    }

    /// The tests of all experiments, by their keys.
    struct Arms: Sendable {
        var allocations: [String: ArmCount] = [:]
        var exposed: [String: ArmCount] = [:]

        func alarming(level: Double) -> [String] {
            [allocations, exposed].flatMap { counts in
                counts.filter { $0.value.test.isAlarming(level: level) }.map(\.key)
            }
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
    /// The level of each whole-move test.
    ///
    /// All tests of a move together raise at most one false alarm in 1,000 moves.
    let level: Double
    /// The level of each test over one stage.
    let stageLevel: Double

    init(_ plan: MigrationPlan, countingUsers most: Int = 100_000) {
        mapping = plan.mapping
        counted = Mutex(CountedUsers(limit: most))
        // One half is shared by the tests of the sides and of each weighted experiment's first places and exposures;
        // the other half by the tests of the same places and exposures in each stage.
        let tests = 2 * plan.mapping.experiments.count { !$0.weights.isEmpty }
        level = 0.0005 / Double(1 + tests)
        stageLevel = 0.0005 / Double(max(tests, 1) * MigrationStage.allCases.count)
        state = Mutex(State())
        restartSides(share: plan.share)
    }

    var snapshot: State { state.withLock { $0 } }

    /// Restarts the test of the sides after a change of the share.
    func restartSides(share: Double) {
        let test = SampleRatioTest(weights: [1 - share, share])
        state.withLock { $0.sides = test.map { Sides(share: share, test: $0) } }
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

    /// Counts a mismatch that stays undecided because configurations kept changing.
    func leaveUndecided(_ mismatch: Mismatch) { state.withLock { $0.undecided[mismatch.kind, default: 0] += 1 } }

    // MARK: Users and events

    func pin(_ side: MigrationSide) {
        state.withLock { state in
            state.pinned[side, default: 0] += 1
            state.sides?.test.count(arm: side == .old ? 0 : 1)
            if state.sides?.test.isAlarming(level: level) == true { state.isAlarming = true }
        }
    }

    /// Counts users' first places.
    func allocate(_ places: [String: Person.Place], in stage: MigrationStage) {
        state.withLock { state in
            for (key, place) in places {
                count(place.variation, key, \.allocations, in: stage, &state)
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
            count(variation, key, \.exposed, in: stage, &state, isNew: isFirst.ever, isNewInStage: isFirst.inStage)
        }
    }

    /// Counts an event that a vendor doesn't support.
    func refuse(by side: MigrationSide) {
        state.withLock { state in
            state.unsupported[side, default: 0] += 1
            state.unwritten[side, default: 0] += 1
        }
    }

    /// Takes the counts of unsupported events that are to be written to the store.
    func takeUnwritten() -> [MigrationSide: Int] {
        state.withLock { state in
            defer { state.unwritten = [:] }
            return state.unwritten
        }
    }

    /// Puts back counts that couldn't be written.
    func putBack(_ unwritten: [MigrationSide: Int]) {
        state.withLock { $0.unwritten.merge(unwritten, uniquingKeysWith: +) }
    }

    /// The tests that raise an alarm, over the whole move or over one stage.
    var alarms: [Standing.Alarm] {
        state.withLock { state in
            guard state.isAlarming else { return [] }
            let keys = Set(
                state.arms.alarming(level: level)
                    + state.armsByStage.values.flatMap { $0.alarming(level: stageLevel) }
            )
            var found = keys.sorted().compactMap { alarm(ofGroup: String($0.dropFirst(4))) }
            if let sides = state.sides, sides.test.isAlarming(level: level) {
                found.append(.sides(share: sides.share))
            }
            return found
        }
    }

    /// Whether an alarm is of a test with the weights that apply now.
    func applies(_ alarm: Standing.Alarm, share: Double) -> Bool {
        if alarm.test == Standing.Alarm.sides { return alarm == .sides(share: share) }
        return mapping.experiments.contains { $0.old.experiment == alarm.test && $0.weights == alarm.weights }
    }

    private func alarm(ofGroup group: String) -> Standing.Alarm? {
        mapping.experiment(ofGroup: group, at: .old).map { .init(test: $0.old.experiment, weights: $0.weights) }
    }

    private func count(
        _ variation: String,
        _ key: String,
        _ path: WritableKeyPath<Arms, [String: ArmCount]>,
        in stage: MigrationStage,
        _ state: inout State,
        isNew: Bool = true,
        isNewInStage: Bool = true
    ) {
        if isNew, count(variation, key, level, &state.arms[keyPath: path]) { state.isAlarming = true }
        guard isNewInStage else { return }
        if count(variation, key, stageLevel, &state.armsByStage[stage, default: Arms()][keyPath: path]) {
            state.isAlarming = true
        }
    }

    /// Counts a user into an arm.
    ///
    /// - Returns: Whether the test raises an alarm.
    private func count(
        _ variation: String,
        _ key: String,
        _ level: Double,
        _ counts: inout [String: ArmCount]
    ) -> Bool {
        if counts[key] == nil {
            guard key.hasPrefix("old/"),
                let mapped = mapping.experiment(ofGroup: String(key.dropFirst(4)), at: .old), !mapped.weights.isEmpty
            else { return false }
            let arms = mapped.weights.keys.sorted()
            guard let test = SampleRatioTest(weights: arms.map { mapped.weights[$0] ?? 0 }) else { return false }
            counts[key] = ArmCount(arms: arms, test: test)
        }
        guard let arm = counts[key]?.arms.firstIndex(of: variation) else { return false }
        counts[key]?.test.count(arm: arm)
        return counts[key]?.test.isAlarming(level: level) ?? false
    }
}
