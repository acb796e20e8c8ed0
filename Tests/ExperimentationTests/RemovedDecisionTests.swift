import Testing

@testable import Experimentation

@Suite("Decisions of an earlier run that a denial removes while they are being read", .timeLimit(.minutes(1)))
struct RemovedDecisionTests {
    /// A store that has read decisions, and is slow to return them.
    private struct LateReading: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let reached = AsyncGate()
        let mayReturn = AsyncGate()

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            let value = try await baseState.value(for: key)
            if value != nil, key.contains("/decisions/") {
                reached.open()
                await mayReturn.wait()
            }
            return value
        }
    }

    @Test("they don't come back, even if the user consents again", arguments: [[Consent.denied], [.denied, .granted]])
    func removed(choices: [Consent]) async throws {
        let late = LateReading()
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: late)
        let source = GatedSource()
        source.open()
        let ada = User(id: "ada", consent: .granted)
        try await ExperimentationClient(provider: GatedProvider(source: source), store: store)
            .session(for: ada).refresh()
        source.fail()
        let session = try await ExperimentationClient(provider: GatedProvider(source: source), store: store)
            .session(for: ada)
        let refreshing = Task { try await session.refresh() }
        await late.reached.wait()
        for consent in choices { try await session.setConsent(consent) }
        late.mayReturn.open()
        await #expect(throws: ExperimentationError.self) { try await refreshing.value }
        #expect(session.details("user", default: "").errorCode == .providerNotReady)
    }
}
