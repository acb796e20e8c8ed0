import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization
import Testing

@testable import ExperimentationMigration

@Suite("Denials of consent during a move")
struct DenialsInMovesTests {
    @Test(
        "a vendor that may have a user's events is notified of a denial in any stage, and no other vendor is",
        arguments: [
            ([.off], toNew: false), ([.dualWrite, .off], toNew: true), ([.live, .off], toNew: true),
            ([.dualWrite], toNew: true), ([.rampDown, .complete], toNew: true),
        ] as [([MigrationStage], toNew: Bool)]
    )
    func told(stages: [MigrationStage], toNew: Bool) async throws {
        let moves = Moves()
        let client = try await moves.client()
        let session = client.session(for: User(id: "ada", consent: .granted))
        for stage in stages {
            try await Moves.migration(of: client).move(to: stage)
            try await session.track(.custom(stage.rawValue))
            _ = try await client.flush()
        }
        try await session.setConsent(.denied)
        _ = try await client.flush()
        let denial = TrackingEvent(.consentChanged(granted: false))
        #expect(moves.old.delivered.count { $0 == denial } == 1)
        #expect(moves.new.delivered.count { $0 == denial } == (toNew ? 1 : 0))
        #expect(try await client.ledgers().values.allSatisfy { $0.isBalanced && $0.pending == 0 })
        await client.shutdown(within: .zero)
    }

    @Test("which vendors may have events is remembered over runs, and a grant goes only where the stage sends events")
    func overRuns() async throws {
        let moves = Moves()
        let first = try await moves.client()
        try await Moves.migration(of: first).move(to: .dualWrite)
        try await Moves.migration(of: first).move(to: .off)
        await first.shutdown(within: .zero)
        let second = try await moves.client()
        let session = second.session(for: User(id: "ada"))
        for consent in [Consent.denied, .granted] { try await session.setConsent(consent) }
        _ = try await second.flush()
        let signals = [false, true].map { TrackingEvent(.consentChanged(granted: $0)) }
        #expect(moves.old.delivered == signals)
        #expect(moves.new.delivered == [signals[0]])
        await second.shutdown(within: .zero)
    }

    @Test("an idle instance notifies the new vendor right after another instance has moved")
    func idle() async throws {
        let moves = Moves()
        let (idle, other) = (try await moves.client(), try await moves.client())
        let users = ["ada", "eve"].map { User(id: $0, consent: .granted) }
        try await Moves.migration(of: other).move(to: .dualWrite)
        for user in users { try await other.track(.custom("goal"), for: user) }
        _ = try await other.flush()
        try await Moves.migration(of: other).move(to: .off)
        try await idle.setConsent(.denied, for: users[0])
        try await idle.track(TrackingEvent(.consentChanged(granted: false)), for: users[1])
        _ = try await idle.flush()
        #expect(moves.old.deniers == ["ada", "eve"])
        #expect(moves.new.deniers == ["ada", "eve"])
        for client in [idle, other] { await client.shutdown(within: .zero) }
    }

    @Test("an instance that can't read the stage of the move notifies both vendors")
    func unread() async throws {
        let moves = Moves()
        let isAway = Mutex(false)
        let store = RacingStore(
            moves.store,
            afterReads: { () async throws(ExperimentationError) in
                if isAway.withLock({ $0 }) { throw ExperimentationError(.store, "The database is locked.") }
            }
        )
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: moves.new, plan: moves.plan),
            store: store.clientStore,
            environment: ClientEnvironment(time: moves.time)
        )
        let other = try await moves.client()
        for stage in [MigrationStage.dualWrite, .off] { try await Moves.migration(of: other).move(to: stage) }
        isAway.withLock { $0 = true }
        await #expect(throws: ExperimentationError.self) { try await client.setConsent(.denied, for: User(id: "ada")) }
        isAway.withLock { $0 = false }
        _ = try await client.flush()
        #expect(moves.old.deniers == ["ada"])
        #expect(moves.new.deniers == ["ada"])
        for client in [client, other] { await client.shutdown(within: .zero) }
    }

    @Test("an idle instance notifies only the old vendor while the new one has had no events")
    func idleBefore() async throws {
        let moves = Moves()
        let (idle, other) = (try await moves.client(), try await moves.client())
        moves.time.advance(by: .seconds(3))
        try await idle.setConsent(.denied, for: User(id: "ada"))
        _ = try await idle.flush()
        #expect(moves.old.deniers == ["ada"])
        #expect(moves.new.deniers == [])
        for client in [idle, other] { await client.shutdown(within: .zero) }
    }

    @Test(
        "in another move, the new vendor is notified of a denial if it was the new one before",
        arguments: [("new", toNew: true), ("third", toNew: false)]
    )
    func anotherMove(name: String, toNew: Bool) async throws {
        let moves = Moves()
        let first = try await moves.client()
        for stage in [MigrationStage.dualWrite, .off] { try await Moves.migration(of: first).move(to: stage) }
        await first.shutdown(within: .zero)
        let vendor = name == "new" ? moves.new : Moves.vendor(name, 1, isTurned: true, canBeTold: true, false)
        for (number, user) in ["ada", "eve"].enumerated() {
            var plan = moves.plan
            plan.salt = "move \(number + 2)"
            let client = try await ExperimentationClient(
                provider: MigratingProvider(from: moves.old, to: vendor, plan: plan),
                store: moves.store,
                environment: ClientEnvironment(time: moves.time)
            )
            try await client.setConsent(.denied, for: User(id: user))
            _ = try await client.flush()
            await client.shutdown(within: .zero)
        }
        #expect(moves.old.deniers == ["ada", "eve"])
        #expect(vendor.deniers == (toNew ? ["ada", "eve"] : []))
    }

    @Test("a plan's stage counts as well, and a record without this information counts as moved")
    func standings() throws {
        let standing = Standing(stage: .off, share: 0)
        #expect(!standing.hasReached(.new) && standing.hasReached(.old))
        #expect(standing.under(MigrationPlan(stage: .dualWrite)).hasReached(.new))
        #expect(Standing(stage: .live, share: 0).hasReached(.new))
        var back = standing
        back.go(to: .rampDown, share: 1)
        back.go(to: .off, share: 0)
        #expect(back.hasReached(.new))
        #expect(try JSONDecoder().decode(Standing.self, from: JSONEncoder().encode(back)) == back)
        #expect(try JSONDecoder().decode(Standing.self, from: JSONEncoder().encode(standing)) == standing)
        let former = #"{"planned":"off","plannedShare":0,"share":0,"stage":"off"}"#
        #expect(try JSONDecoder().decode(Standing.self, from: Data(former.utf8)).hasReached(.new))
    }
}

extension InMemoryProvider {
    /// The users whose denials the vendor was notified of, in order.
    fileprivate var deniers: [String] {
        let denial = TrackingEvent(.consentChanged(granted: false))
        return record.delivered.filter { $0.event == denial }.map(\.identity.id)
    }
}
