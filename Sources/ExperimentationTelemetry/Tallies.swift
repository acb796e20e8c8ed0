import Experimentation
import Synchronization

/// What is counted where it happens and recorded later, so that a backend that blocks loses no count.
struct Tallies: Sendable {
    /// A variation of an experiment.
    struct Arm: Sendable, Hashable {
        let experiment: ExactText
        let variation: ExactText

        init(_ assignment: Assignment) {
            (experiment, variation) = (ExactText(assignment.experiment.id), ExactText(assignment.variation.id))
        }
    }

    /// A signal whose items may be left out; dropped measurements are recorded where they are found to be missing.
    enum Signal: Sendable { case log }

    let evaluations: EvaluationTally
    let exposures = Tally<Arm>()
    /// Mismatches by kind.
    let mismatches = Tally<String>()
    /// Events that were left out.
    let drops = Tally<Signal>()
    private let meters: Meters

    init(for meters: Meters, _ options: TelemetryOptions) {
        self.meters = meters
        evaluations = EvaluationTally(limit: options.seriesLimit)
    }

    /// Records what has been counted since the last call; called on the measurements' thread.
    func record() {
        meters.record(evaluations.take())
        for (arm, count) in exposures.take() { meters.exposed(arm, count) }
        for (kind, count) in mismatches.take() { meters.mismatched(kind, count) }
        for count in drops.take().values { meters.dropped(count) }
    }
}

/// Counts by key; for what is rarer than evaluations.
final class Tally<Key: Hashable & Sendable>: Sendable {
    private let counts = Mutex<[Key: Int]>([:])

    /// Adds to a count; a negative number is ignored, because counters never fall.
    func add(_ key: Key, _ count: Int = 1) {
        guard count > 0 else { return }
        counts.withLock { $0[key, default: 0] += count }
    }

    /// Returns the counts since the last call.
    func take() -> [Key: Int] {
        counts.withLock { counts in
            defer { counts = [:] }
            return counts
        }
    }
}
