import Experimentation
import ExperimentationMigration
import ExperimentationTesting
import Testing
import Waiting

/// Random sequences of stages, shares, log-ins, restarts and instances, each from a seed.
@Suite("Random moves")
struct RandomMovesTests {
    @Test("no user sees another variation, in any order: 200 seeds")
    func nobodyChanges() async throws {
        for seed in 0..<200 { try await play(UInt64(seed)) }
    }

    @Test("no user of a crowd changes variation, and ledgers balance: 1,000,000 users × 20 experiments under soak")
    func crowd() async throws {
        // In waves with a store each, so that memory stays bounded.
        let (waves, users, experiments) = isSoak ? (50, 20_000, 20) : (2, 100, 20)
        var chance = RatioTests.Seeded(state: 77)
        for wave in 0..<waves {
            let moves = Moves(experiments: experiments, batching: BatchPolicy(count: 500, interval: .zero))
            var client = try await moves.client()
            var seen = [[String]?](repeating: nil, count: users)
            for visit in 0..<4 {
                let stage = visit == 0 ? .off : MigrationStage.allCases.randomElement(using: &chance) ?? .off
                let share = Double.random(in: 0...1, using: &chance)
                try? await Moves.migration(of: client).move(to: stage, share: share)
                if visit == 2 { client = try await moves.client() }
                for user in 0..<users where visit == 0 || Bool.random(using: &chance) {
                    let session = client.session(for: User(id: "user-\(wave)-\(user)", consent: .granted))
                    try await session.refresh()
                    let now = (0..<experiments).map { session.string("f\($0)", default: "none") }
                    if let before = seen[user], before != now {
                        Issue.record("wave \(wave), visit \(visit), user \(user): \(before), then \(now)")
                    }
                    seen[user] = now
                    // Reading never waits for deliveries, so on a slow machine the store would fill up and drop some.
                    if user % 1_000 == 999 { try await deliverAll(of: client, moves.time) }
                }
                for vendor in [moves.old, moves.new] { vendor.clearRecord() }
            }
            #expect(try Moves.migration(of: client).report.changed == 0)
            try await deliverAll(of: client, moves.time)
            for ledger in try await client.ledgers().values { #expect(ledger.isBalanced && ledger.dropped == [:]) }
            await client.shutdown(within: .zero)
        }
    }

    private func deliverAll(of client: ExperimentationClient, _ time: ManualTime) async throws {
        try await eventually("everything is delivered") {
            time.advance(by: .seconds(600))
            _ = try await client.flush(within: .seconds(5), retrying: false)
            return try await client.ledger().pending == 0
        }
    }

    @Test("no user changes variation among processes on one store, killed between any two operations")
    func nobodyChangesAmongKills() async throws {
        for seed in 0..<(isSoak ? 2_000 : 60) { try await playKilled(UInt64(seed)) }
    }

    /// What a user has seen, and whether the id and the anonymous id have come together.
    private struct Seen {
        var values: [String]?
        var isLinked = false
    }

    private func playKilled(_ seed: UInt64) async throws {
        var chance = RatioTests.Seeded(state: seed &* 7_919 &+ 5)
        let moves = Moves(experiments: 2)
        func process() async throws -> (client: ExperimentationClient, store: MortalStore) {
            while true {
                let store = MortalStore(moves.store, dyingAfter: Int.random(in: 10..<80, using: &chance))
                let client = try? await moves.time.passing {
                    try await ExperimentationClient(
                        provider: MigratingProvider(from: moves.old, to: moves.new, plan: moves.plan),
                        store: store.clientStore,
                        environment: ClientEnvironment(time: moves.time)
                    )
                }
                if let client { return (client, store) }
            }
        }
        var processes = [try await process(), try await process(), try await process()]
        var seen = [Seen](repeating: Seen(), count: 6)
        for step in 0..<40 {
            for index in processes.indices where processes[index].store.isDead {
                await processes[index].client.shutdown(within: .zero)
                processes[index] = try await process()
            }
            let client = processes[Int.random(in: 0..<processes.count, using: &chance)].client
            moves.time.advance(by: .milliseconds(Int64.random(in: 0..<1_500, using: &chance)))
            if Int.random(in: 0..<5, using: &chance) == 0 {
                let stage = MigrationStage.allCases.randomElement(using: &chance) ?? .off
                let share = Double.random(in: 0...1, using: &chance)
                try? await Moves.migration(of: client).move(to: stage, share: share)
                continue
            }
            let number = Int.random(in: 0..<seen.count, using: &chance)
            let kind = Int.random(in: 0..<3, using: &chance)
            // Before they have come together, the two ids are two users.
            let user =
                switch kind {
                case 0 where seen[number].isLinked: User(id: "person-\(number)", consent: .granted)
                case 1: User(id: "person-\(number)", anonymousID: "visit-\(number)", consent: .granted)
                default: User(id: "visit-\(number)", consent: .granted)
                }
            let session = client.session(for: user)
            let isAnswered = (try? await session.refresh()) != nil
            let now = (0..<2).map { session.string("f\($0)", default: "none") }
            guard isAnswered || now != ["none", "none"] else { continue }
            if isAnswered, kind == 1 { seen[number].isLinked = true }
            let before = seen[number].values ?? now
            seen[number].values = before
            #expect(now == before, "seed \(seed), step \(step), user \(number)")
        }
        for process in processes { await process.client.shutdown(within: .zero) }
    }

    private func play(_ seed: UInt64) async throws {
        var chance = RatioTests.Seeded(state: seed &* 104_729 &+ 17)
        let moves = Moves(experiments: 2)
        var clients = [try await moves.client(), try await moves.client()]
        var seen: [Int: [String]] = [:]
        for step in 0..<25 {
            let index = Int.random(in: 0..<clients.count, using: &chance)
            switch Int.random(in: 0..<10, using: &chance) {
            case 0, 1:
                let stage = MigrationStage.allCases.randomElement(using: &chance) ?? .off
                let share = Double.random(in: 0...1, using: &chance)
                // Moves that would break the promise may be refused.
                try? await Moves.migration(of: clients[index]).move(to: stage, share: share)
            case 2:
                // The process ends, and another one starts on the same store.
                clients[index] = try await moves.client()
            default:
                let number = Int.random(in: 0..<6, using: &chance)
                let isSignedIn = Bool.random(using: &chance)
                let user = User(
                    id: isSignedIn ? "person-\(number)" : "visit-\(number)",
                    anonymousID: isSignedIn ? "visit-\(number)" : nil,
                    consent: .granted
                )
                let session = clients[index].session(for: user)
                try await session.refresh()
                let now = (0..<2).map { session.string("f\($0)", default: "none") }
                let before = seen[number] ?? now
                seen[number] = before
                #expect(now == before, "seed \(seed), step \(step), user \(number)")
            }
        }
        for client in clients { await client.shutdown(within: .zero) }
    }
}
