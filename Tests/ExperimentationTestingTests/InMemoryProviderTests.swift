import Experimentation
import Foundation
import Synchronization
import Testing
import Waiting

@testable import ExperimentationTesting

@Suite("Flags of the in-memory provider", .timeLimit(.minutes(10)))
struct InMemoryProviderTests {
    private let provider = InMemoryProvider(flags: [InMemoryFlag("a", "1"), InMemoryFlag("b", "1")])

    @Test("one flag is changed, and an open session updates by itself")
    func changedAlone() async throws {
        let client = try await ExperimentationClient(provider: provider)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        var changes = session.changes.makeAsyncIterator()
        provider.set(InMemoryFlag("a", "2"))
        #expect(await changes.next()?.flags == ["a"])
        #expect([session.string("a", default: ""), session.string("b", default: "")] == ["2", "1"])
        provider.set(InMemoryFlag("c", "1"))
        #expect(await changes.next()?.flags == ["c"])
        provider.removeFlag("b")
        #expect(await changes.next()?.flags == ["b"])
        #expect(session.string("b", default: "none") == "none")
        await client.shutdown()
    }

    @Test("replacing all flags takes effect with the next refresh")
    func replaced() async throws {
        let client = try await ExperimentationClient(provider: provider)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        provider.replace(flags: [InMemoryFlag("a", "2")])
        #expect(session.string("a", default: "") == "1")
        try await session.refresh(force: true)
        #expect(session.string("a", default: "") == "2")
        await client.shutdown()
    }

    @Test("verdicts and campaigns may look at the provider, and change it")
    func closuresUseTheProvider() async throws {
        let provider = InMemoryProvider(needsConsent: false)
        provider.setVerdict { [unowned provider] envelope in
            // Earlier events of the same batch aren't settled yet, but the batch is known.
            let known = provider.record.batches.joined().contains { $0.id == envelope.id }
            if case .custom("last", _) = envelope.event.kind { provider.setVerdict { _ in .rejected("no more") } }
            return known ? .delivered : .rejected("unknown")
        }
        provider.setCampaigns { [unowned provider] envelope in
            provider.set(InMemoryFlag("seen", .string(envelope.event.type)))
            return []
        }
        let client = try await ExperimentationClient(provider: provider)
        let user = User(id: "ada")
        for name in ["first", "last"] { try await client.track(.custom(name), for: user) }
        try await client.flush()
        #expect(provider.delivered == [.custom("first"), .custom("last")])
        try await client.track(.custom("later"), for: user)
        try await client.flush()
        #expect(provider.delivered.count == 2)
        #expect(try await client.ledger().dropped == [.rejected: 1])
        try await client.refresh(force: true)
        #expect(client.string("seen", default: "", for: user) == "custom")
        await client.shutdown()
    }

    @Test("assignments from elsewhere are honored by group and variation")
    func honored() {
        let experiment = Experiment(id: "e")
        let kept = Assignment(experiment: experiment, variation: Variation(id: "green"))
        let holdout = Assignment(experiment: experiment, group: "h", variation: Variation(id: "out"), isHoldout: true)
        let forced = Assignment(
            experiment: experiment,
            group: "f",
            variation: Variation(id: "x"),
            origin: .forcedHere
        )
        #expect(EarlierAssignments([kept, holdout, forced]) == ["e": "green"])
    }

    /// What a provider's rules decide for Ada.
    private func decisions(
        of provider: InMemoryProvider,
        overrides: [AssignmentOverride] = []
    ) -> Decisions {
        let context = EvaluationContext(user: User(id: "ada"), overrides: overrides, date: .distantPast)
        return provider.state.withLock { $0.rules }.decisions(for: context)
    }

    @Test("keys are compared by their bytes: two spellings of one letter are two flags")
    func spellings() {
        let (one, other) = ("caf\u{e9}", "cafe\u{301}")
        let experiment = InMemoryExperiment(
            Experiment(id: "e"),
            arms: [.init(Variation(id: "b"), weight: 100, flags: [other: 3])]
        )
        let flags = [InMemoryFlag(one, 1), InMemoryFlag(other, 2), InMemoryFlag("tea", 4)]
        func values(_ provider: InMemoryProvider) -> [FlagValue?] {
            [one, other, "tea"].map { decisions(of: provider)[$0]?.value }
        }
        let provider = InMemoryProvider(flags: flags)
        #expect(values(provider) == [1, 2, 4])
        #expect(values(InMemoryProvider(flags: flags, experiments: [experiment])) == [1, 3, 4])
        provider.set(InMemoryFlag(other, 5))
        #expect(values(provider) == [1, 5, 4])
        provider.removeFlag(one)
        #expect(values(provider) == [nil, 5, 4])
    }

    @Test("of two flags with the same key the later one counts, and others keep their values")
    func sameKey() {
        let flags = [InMemoryFlag("a", 1), InMemoryFlag("a", 2), InMemoryFlag("b", 3)]
        let decisions = decisions(of: InMemoryProvider(flags: flags))
        #expect(["a", "b"].map { decisions[$0]?.value } == [2, 3])
    }

    @Test("an override can't assign a variation of an experiment that has none")
    func withoutArms() {
        let provider = InMemoryProvider(
            flags: [InMemoryFlag("a", 1)],
            experiments: [InMemoryExperiment(Experiment(id: "x"), arms: [])]
        )
        let decisions = decisions(of: provider, overrides: [.include(experiment: "x", variation: nil)])
        #expect(decisions.assignments == [])
        #expect(decisions["a"]?.value == 1)
    }

    @Test("holdouts that name each other in a circle are decided, and so are the experiments below them")
    func circle() {
        func holdout(_ id: String, in others: [String]) -> InMemoryExperiment {
            InMemoryExperiment(
                Experiment(id: id),
                arms: [.init(Variation(id: "out"), weight: 100)],
                isHoldout: true,
                holdouts: others
            )
        }
        let test = InMemoryExperiment(
            Experiment(id: "test"),
            arms: [.init(Variation(id: "b"), weight: 100, flags: ["a": 2])],
            holdouts: ["one"]
        )
        let provider = InMemoryProvider(
            flags: [InMemoryFlag("a", 1)],
            experiments: [
                holdout("one", in: ["two"]), holdout("two", in: ["three"]), holdout("three", in: ["one"]), test,
            ]
        )
        let decisions = decisions(of: provider)
        #expect(decisions.assignments.map(\.experiment.id) == ["one", "two", "three"])
        #expect(decisions["a"]?.value == 1)
    }

    @Test("a provider forgets the clients that have been shut down")
    func forgotten() async throws {
        for _ in 0..<3 {
            let client = try await ExperimentationClient(provider: provider)
            try await eventually("listening") { provider.listeners.count == 1 }
            await client.shutdown()
            try await eventually("the end of listening") { provider.listeners.count == 0 }
        }
    }
}
