import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@testable import ExperimentationMigration

@Suite("Experiments finished at an old vendor that is asked")
struct FinishedExperimentsTests {
    /// An old vendor with `e0` and `e1`, of which the plan maps the first.
    private func client(_ moves: Moves) async throws -> ExperimentationClient {
        var plan = moves.plan
        plan.mapping = Mapping([moves.plan.mapping.experiments[0]])
        return try await ExperimentationClient(
            provider: MigratingProvider(from: Asked(moves.old), to: moves.new, plan: plan),
            store: moves.store,
            environment: ClientEnvironment(time: moves.time)
        )
    }

    private func come(_ client: ExperimentationClient) async throws {
        for user in MovingTests.users.prefix(20) { _ = try await Moves.color(user, by: client) }
    }

    private func finish(_ moves: Moves) {
        let arms: [InMemoryExperiment.Arm] = [
            .init(Variation(id: "a"), weight: 50, flags: ["f0": "grey"]),
            .init(Variation(id: "b"), weight: 50, flags: ["f0": "green"]),
        ]
        moves.old.replace(flags: [], experiments: [InMemoryExperiment(Experiment(id: "e0"), arms: arms)])
    }

    private func refusal(_ client: ExperimentationClient) async throws -> String? {
        do {
            try await Moves.migration(of: client).move(to: .live, share: 0.5)
            return nil
        } catch let error as ExperimentationError {
            return error.message
        }
    }

    private func held(_ time: String) -> String {
        "The move to live is held: not mapped; map or finish first: e1 "
            + "(finished ones count as such once old has answered users without them for a day, \(time))"
    }

    @Test(
        "an experiment absent from answers for a day holds no move, and until then the refusal says how long it takes"
    )
    func finished() async throws {
        let moves = Moves(experiments: 2)
        let client = try await client(moves)
        try await come(client)
        #expect(try await refusal(client) == held("in 25 hours at the earliest"))
        finish(moves)
        moves.time.advance(by: .seconds(20 * 3_600))
        try await come(client)
        #expect(try await refusal(client) == held("in 5 hours at the earliest"))
        moves.time.advance(by: .seconds(5 * 3_600))
        #expect(try await refusal(client) == held("with its next answer at the earliest"))
        try await come(client)
        #expect(try await refusal(client) == nil)
        #expect(try Moves.migration(of: client).stage == .live)
        await client.shutdown(within: .zero)
    }

    @Test("a later run counts from when the experiment was last shown")
    func laterRun() async throws {
        let moves = Moves(experiments: 2)
        let first = try await client(moves)
        try await come(first)
        await first.shutdown(within: .zero)
        finish(moves)
        moves.time.advance(by: .seconds(26 * 3_600))
        let second = try await client(moves)
        #expect(try await refusal(second) == held("with its next answer at the earliest"))
        try await come(second)
        #expect(try await refusal(second) == nil)
        await second.shutdown(within: .zero)
    }

    @Test("an experiment that is still shown holds the move however long the day was")
    func stillRunning() async throws {
        let moves = Moves(experiments: 2)
        let client = try await client(moves)
        for _ in 0..<3 {
            try await come(client)
            #expect(try await refusal(client) == held("in 25 hours at the earliest"))
            moves.time.advance(by: .seconds(30 * 3_600))
        }
        await client.shutdown(within: .zero)
    }

    @Test("a record that an earlier version stored without hours is read, and counts as shown when answers come")
    func withoutHours() async throws {
        let moves = Moves(experiments: 2)
        let environment = ClientEnvironment()
        let state = ProviderContext(of: Asked(moves.old), in: moves.store.state, environment).state
        try await SealedState(state, log: environment.log)
            .setValue(Array(#"{"e1":{"name":"e1","variations":["a","b"]}}"#.utf8), for: "migration/experiments")
        finish(moves)
        let client = try await client(moves)
        #expect(try await refusal(client) == held("in 25 hours at the earliest"))
        try await come(client)
        #expect(try await refusal(client) == held("in 25 hours at the earliest"))
        moves.time.advance(by: .seconds(25 * 3_600))
        try await come(client)
        #expect(try await refusal(client) == nil)
        await client.shutdown(within: .zero)
    }

    // MARK: What is kept

    /// A store whose first write fails.
    private final class FailingStore: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        private let isFailing = Atomic<Bool>(true)

        func pass<Value: Sendable>(
            _ operation: StoreOperation,
            _ body: () async throws(ExperimentationError) -> Value
        ) async throws(ExperimentationError) -> Value {
            if operation == .update, isFailing.exchange(false, ordering: .relaxed) {
                throw ExperimentationError(.store, "full")
            }
            return try await body()
        }
    }

    @Test(
        "an experiment first seen while the store failed is written two seconds later, not with each answer until then"
    )
    func unwritten() async throws {
        let time = ManualTime()
        let context = ProviderContext(environment: ClientEnvironment(time: time), state: FailingStore())
        let answer = Decisions(flags: [], assignments: [Self.assignment("e0", "a")])
        let seen = SeenExperiments(in: context)
        for _ in 0..<3 { await seen.note(answer) }
        #expect(try await SeenExperiments(in: context).experiments() == nil)
        time.advance(by: .seconds(2))
        await seen.note(answer)
        #expect(try await SeenExperiments(in: context).experiments()?.map(\.group) == ["e0"])
    }

    // MARK: What was seen

    private static func assignment(_ experiment: String, _ variation: String) -> Assignment {
        Assignment(experiment: Experiment(id: experiment), variation: Variation(id: variation))
    }

    private func running(_ groups: SeenGroups) -> [String] { groups.running.map(\.group) }

    @Test("an experiment counts as running for a day of answers, whichever instance has seen it last")
    func merged() {
        var (one, two) = (SeenGroups(), SeenGroups())
        one.note([Self.assignment("e0", "a"), Self.assignment("e1", "a")], at: 100)
        two.note([Self.assignment("e1", "b")], at: 110)
        one.note([Self.assignment("e0", "a")], at: 134)
        var both = one
        both.merge(two)
        #expect(running(one) == ["e0"])
        #expect(running(both) == ["e0", "e1"])
        #expect(both.running.last?.arms.map(\.variation.id) == ["a", "b"])
        both.note([], at: 135)
        #expect(running(both) == ["e0"])
        #expect(both.stored.map { running(SeenGroups(stored: $0)) } == ["e0"])
        both.note([Self.assignment("e1", "a")], at: 136)
        #expect(running(both) == ["e0", "e1"])
    }

    @Test("without further answers an experiment doesn't end, and a clock that was ahead ends none")
    func clocks() {
        var groups = SeenGroups()
        groups.note([Self.assignment("e0", "a")], at: 100)
        #expect(groups.hoursLeft(of: "e0", at: 200) == 0)
        #expect(running(groups) == ["e0"])
        groups.note([], at: 10_000)
        #expect(running(groups) == [])
        groups.note([Self.assignment("e0", "a")], at: 201)
        #expect(running(groups) == ["e0"])
        #expect(groups.hoursLeft(of: "e0", at: 10_000) == 25)
    }

    @Test("answers that show nothing new within the hour change nothing")
    func unchanged() {
        var groups = SeenGroups()
        groups.note([Self.assignment("e0", "a")], at: 100)
        let before = groups
        groups.note([Self.assignment("e0", "a")], at: 100)
        groups.note([], at: 100)
        #expect(groups == before)
    }
}
