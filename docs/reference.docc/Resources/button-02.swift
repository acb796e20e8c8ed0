import Experimentation
import ExperimentationTesting

func button(for id: String) async throws -> String {
    let provider = InMemoryProvider(flags: [InMemoryFlag("button-color", "red")])
    let client = try await ExperimentationClient(provider: provider)
    let session = client.session(for: User(id: id, consent: .granted))
    try await session.refresh()
    let color = session.string("button-color", default: "grey")
    await client.shutdown()
    return color
}
