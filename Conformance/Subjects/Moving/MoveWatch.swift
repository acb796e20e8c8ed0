import ConformanceKit
import Experimentation
import ExperimentationMigration
import Synchronization

/// Records what the users of a simulation see: a byte per user and experiment, and some counts.
///
/// The byte is the number of the arm seen first, from 1, and a bit for the vendor that answered last.
final class MoveWatch: Sendable {
    struct Counts: Sendable {
        var changed = 0
        var lost = 0
        var failed = 0
        var led: [MigrationSide: Int] = [:]
        var changes: [String] = []
    }

    private struct State {
        var seen: [UInt8]
        var counts = Counts()
        var exposures: ExposureBook
        var tests: [SampleRatioTest?]
    }

    private static let newBit: UInt8 = 0x80
    /// The maximum number of changes described individually.
    private static let mostTold = 20

    private let mapping: Mapping
    private let arms: [[String]]
    private let state: Mutex<State>

    init(users: Int, _ mapping: Mapping) {
        self.mapping = mapping
        arms = mapping.experiments.map { $0.variations.keys.sorted() }
        let tests = zip(mapping.experiments, arms).map { experiment, arms in
            SampleRatioTest(weights: arms.map { experiment.weights.isEmpty ? 1 : experiment.weights[$0] ?? 0 })
        }
        state = Mutex(
            State(
                seen: Array(repeating: 0, count: users * mapping.experiments.count),
                exposures: ExposureBook(users: users, mapping),
                tests: tests
            )
        )
    }

    var counts: Counts { state.withLock { $0.counts } }

    /// The sample-ratio tests of first assignments, by experiment.
    var ratios: [String: MigrationReport.Ratio] {
        let tests = state.withLock { $0.tests }
        var ratios: [String: MigrationReport.Ratio] = [:]
        for (index, test) in tests.enumerated() {
            guard let test else { continue }
            ratios[mapping.experiments[index].old.experiment] = MigrationReport.Ratio(test, arms: arms[index])
        }
        return ratios
    }

    /// Adds exposures that have arrived at a vendor.
    func add(_ received: [Received], at side: MigrationSide) {
        state.withLock { state in
            for event in received where event.type == "exposure" { state.exposures.receive(event, at: side) }
        }
    }

    /// What became of the exposures at one vendor.
    func exposures(at side: MigrationSide) -> ExposureBook.Sum { state.withLock { $0.exposures.sum(at: side) } }

    /// Lets a user come, read the flags of every experiment, perhaps reach the goal, and go.
    func visit(
        _ user: Int,
        _ step: Int,
        _ stage: MigrationStage,
        _ client: ExperimentationClient,
        _ world: World,
        signsIn: Bool
    ) async {
        let isSignedIn = signsIn && user % 4 == 0 && step % 2 == 1
        let session = client.session(
            for: User(
                id: isSignedIn ? "person-\(user)" : "visit-\(user)",
                anonymousID: isSignedIn ? "visit-\(user)" : nil,
                isAuthenticated: isSignedIn,
                attributes: ["plan": "pro", "age": 36],
                consent: .granted
            )
        )
        do {
            try await session.refresh()
        } catch {
            return state.withLock { $0.counts.failed += 1 }
        }
        let assignments = session.assignments
        for flag in world.flags where flag.experiment != nil {
            _ = session.string(flag.key, default: flag.value.stringValue ?? "")
        }
        if user % 3 == 0 { try? await session.track(.custom("goal", value: 1)) }
        note(user, assignments, "step \(step + 1) (\(stage))")
    }

    private func note(_ user: Int, _ assignments: [Assignment], _ when: String) {
        state.withLock { state in
            if let side = assignments.lazy.compactMap(Migration.side).first { state.counts.led[side, default: 0] += 1 }
            for (index, experiment) in mapping.experiments.enumerated() {
                let found = assignments.first { assignment in
                    Migration.side(of: assignment).map { experiment.place(at: $0).group == assignment.group } ?? false
                }
                let place = user * mapping.experiments.count + index
                let before = state.seen[place] & ~Self.newBit
                let last: MigrationSide = state.seen[place] & Self.newBit == 0 ? .old : .new
                guard let found, let side = Migration.side(of: found) else {
                    if before != 0 { state.counts.lost += 1 }
                    continue
                }
                state.exposures.expect(of: user, inExperiment: index, from: side)
                let id = found.variation.id
                let own = side == .new ? mapping.translate(id, ofGroup: found.group, from: .new) : id
                guard let arm = own.flatMap({ arms[index].firstIndex(of: $0) }) else { continue }
                let first = before == 0 ? UInt8(truncatingIfNeeded: arm + 1) & ~Self.newBit : before
                state.seen[place] = side == .new ? first | Self.newBit : first
                if before == 0 {
                    state.tests[index]?.count(arm: arm)
                } else if Int(before) != arm + 1 {
                    state.counts.changed += 1
                    if state.counts.changes.count < Self.mostTold {
                        state.counts.changes.append(
                            "\(when), user \(user) in \(experiment.old.experiment): \(arms[index][Int(before) - 1]), answered by \(last); then \(arms[index][arm]), answered by \(side)"
                        )
                    }
                }
            }
        }
    }
}
