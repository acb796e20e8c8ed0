import Experimentation
import ExperimentationComposition
import ExperimentationTesting
import Testing

@Suite("Sticky assignments in a composition")
struct StickyPartsTests {
    /// A vendor that assigns every user one of two variations, and keeps those that users have.
    private static func sticky(_ variation: String) -> Playing {
        let arms = ["a", "b"].map { id in
            InMemoryExperiment.Arm(Variation(id: id), weight: id == variation ? 100 : 0, flags: ["f": .string(id)])
        }
        return Playing(
            InMemoryProvider(
                name: "sticky",
                experiments: [InMemoryExperiment(Experiment(id: "e"), arms: arms)],
                capabilities: [.flags, .localEvaluation, .experiments, .stickyAssignments]
            )
        ) { $0.events = nil }
    }

    @Test(
        "they are kept over a restart, whether the other vendor is asked for each user or not",
        arguments: Way.allCases
    )
    func kept(way: Way) async throws {
        let store = ClientStore.inMemory()
        for variation in ["a", "b"] {
            let other = Vendors.deciding("other", ["plain": true])
            let provider = try ComposedProvider(of: [way == .mixed ? other.asked : other, Self.sticky(variation)])
            let client = try await ExperimentationClient(provider: provider, store: store)
            let session = client.session(for: User(id: "ada", consent: .granted))
            try await session.refresh()
            #expect(session.string("f", default: "none") == "a")
            await client.shutdown(within: .zero)
        }
    }
}
