import Experimentation
import ExperimentationTesting

func button(for id: String) async throws -> String {
    let provider = InMemoryProvider(flags: [InMemoryFlag("button-color", "red")])
    let client = try await ExperimentationClient(provider: provider)
    await client.shutdown()
    return "red"
}
