import Experimentation
import ExperimentationMigration
import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@Suite("Moves with killed processes")
struct KilledMovesTests {
    /// The accepted events, by name, and the number of kills.
    private struct Said {
        var goals: [String] = []
        var kills = 0
    }

    @Test(
        "over 200 kills and one vendor's outage of a day, neither vendor loses an event, and repetitions keep their id"
    )
    func kills() async throws {
        var chance = RatioTests.Seeded(state: 21)
        let moves = Moves()
        let isAway = Mutex(false)
        moves.new.setVerdict { _ in isAway.withLock { $0 } ? .outage() : .delivered }
        var said = Said()
        var round = 0
        while said.kills < (isSoak ? 2_000 : 200) {
            round += 1
            // From the fiftieth kill on, the new vendor has an outage of 25 processes, an hour apart.
            isAway.withLock { $0 = (50..<75).contains(said.kills) }
            try await live(round, &said, moves, &chance)
            moves.time.advance(by: .seconds(3_600))
        }
        isAway.withLock { $0 = false }
        let last = try await moves.client { $0.stage = .dualWrite }
        try await eventually("nothing waits") {
            moves.time.advance(by: .seconds(600))
            _ = try await last.flush(within: .seconds(5), retrying: false)
            return try await last.ledger().pending == 0
        }
        for ledger in try await last.ledgers().values {
            #expect(ledger.isBalanced)
            #expect(ledger.dropped == [:])
            #expect(ledger.delivered == ledger.accepted)
        }
        for vendor in [moves.old, moves.new] {
            var ids: [String: Set<String>] = [:]
            for envelope in vendor.record.delivered {
                guard case .custom(let name, _) = envelope.event.kind else { continue }
                ids[name, default: []].insert(envelope.id)
            }
            let lost = said.goals.filter { ids[$0] == nil }
            #expect(lost == [], "\(vendor.name) lost \(lost.count) of \(said.goals.count)")
            #expect(ids.values.count { $0.count > 1 } == 0, "\(vendor.name) has one event under two ids")
        }
        // An event has the same id at both vendors.
        let pairs = [moves.old, moves.new].map { vendor in
            Set(vendor.record.delivered.filter { $0.event.type == "custom" }.map(\.id))
        }
        #expect(pairs[0] == pairs[1])
        #expect(said.goals.count > said.kills)
        // Each user came once, so each has one exposure, at one vendor.
        var exposures: [String: Set<String>] = [:]
        for vendor in [moves.old, moves.new] {
            for envelope in vendor.record.delivered where envelope.event.type == "exposure" {
                exposures[envelope.identity.id, default: []].insert("\(vendor.name) \(envelope.id)")
            }
        }
        #expect(exposures.values.count { $0.count > 1 } == 0)
        #expect(exposures.count > said.kills / 2)
        await last.shutdown(within: .zero)
    }

    /// One process, from start to kill.
    private func live(
        _ round: Int,
        _ said: inout Said,
        _ moves: Moves,
        _ chance: inout RatioTests.Seeded
    ) async throws {
        let mortal = MortalStore(moves.store, dyingAfter: Int.random(in: 16..<64, using: &chance))
        var plan = moves.plan
        (plan.stage, plan.share) = (.live, 0.5)
        let client = try? await moves.time.passing { [plan] in
            try await ExperimentationClient(
                provider: MigratingProvider(from: moves.old, to: moves.new, plan: plan),
                store: mortal.clientStore,
                environment: ClientEnvironment(time: moves.time)
            )
        }
        guard let client else { return said.kills += 1 }
        var number = 0
        while !mortal.isDead {
            number += 1
            let session = client.session(for: User(id: "user-\(round)-\(number)", consent: .granted))
            try? await session.refresh()
            _ = session.string("f0", default: "none")
            let name = "goal-\(round)-\(number)"
            if (try? await session.track(.custom(name))) != nil { said.goals.append(name) }
            moves.time.advance(by: .milliseconds(Int64.random(in: 0..<50, using: &chance)))
        }
        said.kills += 1
        await client.shutdown(within: .zero)
    }
}
