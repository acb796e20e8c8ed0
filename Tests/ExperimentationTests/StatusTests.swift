import Experimentation
import ExperimentationTesting
import Testing

@Suite("The status of a provider")
struct StatusTests {
    @Test("status changes are announced once, in order, and a late observer gets the current one")
    func status() async throws {
        let provider = InMemoryProvider(flags: [InMemoryFlag("a", true)])
        let client = try await ExperimentationClient(provider: provider)
        let events = client.statusEvents()
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        try await session.refresh(force: true)
        provider.replace(flags: [InMemoryFlag("a", false)])
        try await session.refresh(force: true)
        try await session.refresh(force: true)
        let gone = ExperimentationError(.transport, "gone")
        provider.setFailure(gone)
        try? await session.refresh(force: true)
        try? await session.refresh(force: true)
        let late = client.statusEvents()
        await client.shutdown()
        var seen: [ProviderEvent] = []
        for await event in events { seen.append(event) }
        #expect(
            seen == [
                ProviderEvent(.reconciling, status: .notReady), ProviderEvent(.ready, status: .ready),
                ProviderEvent(.configurationChanged, status: .ready),
                ProviderEvent(.stale, status: .stale, error: gone),
            ]
        )
        var lateSeen: [ProviderEvent] = []
        for await event in late { lateSeen.append(event) }
        #expect(lateSeen == [ProviderEvent(.stale, status: .stale, error: gone)])
    }
}
