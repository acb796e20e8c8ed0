import ExperimentationTesting
import Synchronization
import Testing

@testable import Experimentation

@Suite("Events noted without waiting")
struct NotedEventTests {
    @Test("noted events are accepted in the order of the calls, with the user at that time, and checked at once")
    func order() async throws {
        let provider = InMemoryProvider()
        let client = try await ExperimentationClient(
            provider: provider,
            environment: ClientEnvironment(time: ManualTime(), log: RecordingLog())
        )
        let session = client.session(for: User(id: "before", consent: .granted))
        try session.trackSoon(.custom("one"))
        session.identify(Identity(id: "after"))
        try session.trackSoon(.custom("two"))
        #expect(throws: ExperimentationError.self) { try session.trackSoon(.custom("")) }
        try await client.flush()
        let ledger = try await client.ledger()
        #expect(ledger == Ledger(accepted: 2, delivered: 2))
        #expect(provider.record.delivered.map(\.identity.id) == ["before", "after"])
    }

    @Test("a flush doesn't report success while noted events can't be stored")
    func unstored() async throws {
        let store = FailingStore(failing: 0..<100, of: [.append])
        let vendor = ScriptedVendor()
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()))
        try client.session(for: User(id: "u", consent: .granted)).trackSoon(.custom("one"))
        let error = await #expect(throws: ExperimentationError.self) { try await client.flush(retrying: false) }
        #expect(error?.code == .store)
        #expect(vendor.record.received.isEmpty)
        await client.shutdown(within: .zero)
        // A flush after the client's end still reports what is left.
        #expect(try await client.flush(retrying: false) == .delivered)
    }

    @Test("after the client's end, noting an event is an error, and the first exposure is logged")
    func late() async throws {
        let log = RecordingLog(level: .warning)
        let provider = InMemoryProvider(experiments: [ExposureTests.checkout])
        let client = try await ExperimentationClient(
            provider: provider,
            environment: ClientEnvironment(time: ManualTime(), log: log)
        )
        let sessions = ["ada", "bob"].map { client.session(for: User(id: $0, consent: .granted)) }
        for session in sessions { try await session.refresh() }
        await client.shutdown()
        for session in sessions {
            let error = #expect(throws: ExperimentationError.self) { try session.trackSoon(.custom("one")) }
            #expect(error?.code == .shutDown)
            #expect(session.string("color", default: "red") == "blue")
        }
        #expect(log.entries.map(\.event) == ["outbox.refused"])
        #expect(try await client.ledger() == Ledger())
    }

    @Test("nothing is kept of a settled event or a closed surface")
    func memory() async throws {
        let provider = InMemoryProvider()
        let client = try await ExperimentationClient(
            provider: provider,
            environment: ClientEnvironment(time: ManualTime(), log: RecordingLog())
        )
        let session = client.session(for: User(id: "u", consent: .granted))
        for index in 0..<20 { try await session.track(.custom("e"), on: "screen-\(index)") }
        try await client.flush()
        #expect(session.state.withLock { $0.epochs.count } == 0)
        for index in 0..<20 { session.closeSurface("screen-\(index)") }
        #expect(session.state.withLock { $0.board.count } == 0)
    }

    @Test("events for an unreachable vendor use bounded memory in their session")
    func boundedEpochs() async throws {
        let client = try await ExperimentationClient(provider: InMemoryProvider(capabilities: [.tracking, .campaigns]))
        await client.setConnectivity(.offline)
        let session = client.session(for: User(id: "ada", consent: .granted))
        for _ in 0..<(EventEpochs.most + 10) { try await session.track(.custom("a")) }
        let count = session.state.withLock { $0.epochs.count }
        #expect(count == EventEpochs.most / 2 + 10)
    }
}
