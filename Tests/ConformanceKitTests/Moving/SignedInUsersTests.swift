import ConformanceStages
import ConformanceSubjects
import Experimentation
import ExperimentationMigration
import MockVendors
import Testing

@testable import ConformanceKit

@Suite("Users who sign in during a move from a vendor that is asked for each user")
struct SignedInUsersTests {
    private static func signedIn(_ numbers: Range<Int>) -> [User] {
        numbers.map { number in
            User(
                id: "person-\(number)",
                anonymousID: "visit-\(number)",
                isAuthenticated: true,
                consent: .granted
            )
        }
    }

    @Test(
        "while it leads, they keep their variations only if it remembers them; then always",
        arguments: [true, false]
    )
    func keeping(remembers: Bool) async throws {
        let subject = MigratingSubject(from: FlagshipSubject(), to: SigmaSubject(), at: .live)
        let probe = Probe(subject: subject, stage: try await subject.open(.split), world: .split)
        let move = try await probe.carryingMove()
        let flagship = try #require(move.old.stage as? MockStage<FlagshipMock>)
        await flagship.vendor.setRemembers(remembers)
        try await probe.start(MovePlan(.off))
        let (early, late) = (0..<20, 20..<40)
        let before = try await probe.visits(of: Probe.people(early)).map(\.color)
        let after = try await probe.visits(of: Self.signedIn(early)).map(\.color)
        #expect((before == after) == remembers)
        let anonymous = try await probe.visits(of: Probe.people(late)).map(\.color)
        try await probe.go(to: .live, share: 1)
        #expect(try await probe.visits(of: Self.signedIn(early)).map(\.color) == after)
        #expect(try await probe.visits(of: Self.signedIn(late)).map(\.color) == anonymous)
        try await probe.client().shutdown(within: .zero)
        await probe.stage.close()
    }
}
