import Experimentation
import ExperimentationTesting

let experiment = InMemoryExperiment(
    Experiment(id: "button"),
    arms: [
        .init(Variation(id: "as-it-was", isControl: true), weight: 50, flags: ["button-color": "red"]),
        .init(Variation(id: "blue"), weight: 50, flags: ["button-color": "blue"]),
    ]
)

func button(for id: String) async throws -> String {
    let provider = InMemoryProvider(flags: [InMemoryFlag("button-color", "red")], experiments: [experiment])
    let client = try await ExperimentationClient(provider: provider)
    let session = client.session(for: User(id: id, consent: .granted))
    try await session.refresh()
    let color = session.string("button-color", default: "grey")
    await client.shutdown()
    return color
}
