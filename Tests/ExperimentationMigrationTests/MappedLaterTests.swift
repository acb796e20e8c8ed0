import Experimentation
import ExperimentationTesting
import Testing

@testable import ExperimentationMigration

@Suite("Experiments that are mapped while users have records")
struct MappedLaterTests {
    private static let users = MovingTests.users.prefix(20)

    /// Lets the old vendor assign a share of the users in its first experiment, and all in the second.
    private static func deal(_ percent: Double, _ moves: Moves) {
        let experiments = [percent, 100].enumerated().map { index, percent in
            InMemoryExperiment(
                Experiment(id: "e\(index)"),
                arms: [
                    .init(Variation(id: "a", isControl: true), weight: percent / 2, flags: ["f\(index)": "grey"]),
                    .init(Variation(id: "b"), weight: percent / 2, flags: ["f\(index)": "green"]),
                ]
            )
        }
        moves.old.replace(flags: [], experiments: experiments)
    }

    /// What users see of the two experiments, by a client with a part of the mapping.
    private static func seen(
        by moves: Moves,
        mapped: Int,
        at stage: MigrationStage
    ) async throws -> [String: [String]] {
        let client = try await moves.client { plan in
            plan.mapping = Moves.mapping(mapped)
            (plan.stage, plan.share) = (stage, 1)
        }
        var seen: [String: [String]] = [:]
        for user in users {
            let session = client.session(for: User(id: user, consent: .granted))
            try await session.refresh()
            seen[user] = ["f0", "f1"].map { session.string($0, default: "none") }
        }
        await client.shutdown(within: .zero)
        return seen
    }

    @Test("users outside an experiment stay outside if it is mapped after their last visit", arguments: [0, 1])
    func outside(mappedBefore: Int) async throws {
        let moves = Moves(experiments: 2)
        Self.deal(50, moves)
        let before = try await Self.seen(by: moves, mapped: mappedBefore, at: .off)
        #expect(Set(before.values.map { $0[0] }) == ["grey", "green", "none"])
        #expect(try await Self.seen(by: moves, mapped: 2, at: .live) == before)
    }

    @Test("users outside stay outside even if the old vendor, asked about another experiment, would now assign them")
    func stillOutside() async throws {
        let moves = Moves(experiments: 2)
        Self.deal(50, moves)
        let before = try await Self.seen(by: moves, mapped: 1, at: .off)
        Self.deal(100, moves)
        #expect(try await Self.seen(by: moves, mapped: 2, at: .live) == before)
    }
}
