import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import Synchronization
import Testing

@testable import ExperimentationMigration

/// A move on one SQLite file by one process after another, each killed at an arbitrary operation of the store, with a
/// model of what may follow.
final class CutMove {
    /// A user, who begins with an anonymous id, and the application's own record of their choice.
    struct Person {
        var number: Int
        var isSignedIn = false
        var consent = Consent.unknown
        /// Whether the last choice was reported as carried out.
        var isTold = true
        /// What the user has seen since the last choice.
        var colors: [String]?

        var id: String { isSignedIn ? "person-\(number)" : "visit-\(number)" }
        var user: User { User(id: id, anonymousID: isSignedIn ? "visit-\(number)" : nil, consent: consent) }
    }

    struct Goal {
        var name: String
        var user: String
        var stage: MigrationStage
        var date: Date
        /// Whether `track` has returned.
        var isAccepted = false
    }

    /// A denial that was reported as carried out.
    struct Denial {
        var user: String
        var date: Date
        /// The user's events that vendors had when the denial was carried out.
        var delivered: Set<String>
        /// Whether the new vendor certainly may have had events.
        var hasReachedNew: Bool
        /// When the user consented again.
        var end: Date?
    }

    /// A link of a user's two ids that was reported as complete.
    struct Link {
        var person: Int
        var stage: MigrationStage
    }

    struct Process {
        var client: ExperimentationClient
        var migration: Migration
        var store: MortalStore
        var file: SQLiteStore
        var sessions: [Int: UserSession] = [:]
        /// When the store began to work for good.
        var healthySince: Date?

        var place: Place { Place(stage: migration.stage, share: migration.share) }
    }

    struct Place: Hashable {
        var stage: MigrationStage
        var share: Double
    }

    /// Ids in order.
    final class Numbers: Sendable {
        private let last = Mutex(0)

        func next() -> String {
            let number = last.withLock { last in
                last += 1
                return last
            }
            return "id-\(number)"
        }
    }

    let seed: Int
    let moves: Moves
    let warehouse: InMemoryProvider
    let shapes: [MigrationSide: Shape]
    let url: URL
    let numbers = Numbers()
    var chance: RatioTests.Seeded
    var plan: MigrationPlan
    /// The plans that were applied.
    var plans: [MigrationPlan] = []
    var lastRevision = 0
    /// The possible stages of the move: several if a process died while it moved.
    var places: Set<Place> = [Place(stage: .off, share: 0)]
    var (hasReachedNew, mayHaveReachedNew) = (false, false)
    var disabled: Set<MigrationSide> = []
    /// The number of batches sent to the disabled vendors whose kill switch a process has seen.
    var off: [MigrationSide: Int] = [:]
    var people = (0..<5).map { Person(number: $0) }
    var goals: [Goal] = []
    var links: [Link] = []
    /// How often a link was cut by the store, by person: its last step may be repeated as often.
    var cuts: [Int: Int] = [:]
    /// Which move it is, from 0 on.
    var moveNumber = 0
    var denials: [Denial] = []
    /// Denials that were begun.
    var attempts: [(user: String, date: Date)] = []
    private var trace: [String] = []

    init(seed: Int, in folder: URL) {
        self.seed = seed
        var chance = RatioTests.Seeded(state: UInt64(seed) &* 104_729 &+ 11)
        let batching =
            Bool.random(using: &chance)
            ? BatchPolicy(count: 1, interval: .zero) : BatchPolicy(count: 10_000, interval: .seconds(86_400))
        moves = Moves(experiments: 2, needsConsent: Bool.random(using: &chance), batching: batching)
        warehouse = InMemoryProvider(name: "warehouse", batching: batching, needsConsent: false)
        shapes = [
            .old: Shape.allCases.randomElement(using: &chance) ?? .computed,
            .new: Shape.allCases.randomElement(using: &chance) ?? .computed,
        ]
        url = folder.appending(path: "\(seed).sqlite")
        self.chance = chance
        plan = moves.plan
    }

    func vendor(_ side: MigrationSide) -> InMemoryProvider { side == .old ? moves.old : moves.new }

    func roll(_ count: Int) -> Int { Int.random(in: 0..<count, using: &chance) }

    func note(_ text: String) { trace.append(text) }

    func fail(_ text: String) {
        Issue.record("seed \(seed), \(shapes): \(text)\n\(trace.suffix(80).joined(separator: "\n"))")
    }

    func play(steps: Int) async throws {
        var process = try await begin()
        for _ in 0..<steps {
            moves.time.advance(by: .milliseconds(5 + roll(1_500)))
            await step(&process)
            check(&process)
            guard process.store.isDead else { continue }
            await end(process)
            process = try await begin()
        }
        await end(process)
        try await finish()
    }
}
