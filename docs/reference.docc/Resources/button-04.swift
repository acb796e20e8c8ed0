import Experimentation
import ExperimentationTesting

let experiment = InMemoryExperiment(
    Experiment(id: "button"),
    arms: [
        .init(Variation(id: "as-it-was", isControl: true), weight: 50, flags: ["button-color": "red"]),
        .init(Variation(id: "blue"), weight: 50, flags: ["button-color": "blue"]),
    ]
)

func happenings(of id: String) async throws -> [Happening] {
    let provider = InMemoryProvider(flags: [InMemoryFlag("button-color", "red")], experiments: [experiment])
    let client = try await ExperimentationClient(provider: provider)
    let session = client.session(for: User(id: id, consent: .granted))
    try await session.refresh()
    let color = session.string("button-color", default: "grey")
    try await session.track(.custom("bought with \(color)"))
    try await client.flush()
    await client.shutdown()
    return provider.happenings(of: id)
}
