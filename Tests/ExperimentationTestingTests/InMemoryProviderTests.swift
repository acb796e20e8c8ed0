import Experimentation
import ExperimentationTesting
import Testing

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
}
