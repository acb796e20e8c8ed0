import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import ExperimentationMigration

@Suite("Denials of consent during a move")
struct DenialsInMovesTests {
    @Test(
        "a vendor that may have users' events is told of a denial in any stage, and no other one",
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

    @Test("it is remembered over runs, and a grant goes only where the stage sends events")
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

    @Test("a plan's stage counts as well, and a record from before this was noted counts as moved")
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
