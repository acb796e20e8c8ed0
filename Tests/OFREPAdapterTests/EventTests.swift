import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing
import Waiting

@testable import OFREPAdapter

/// Tests event streams over real sockets.
@Suite("OFREP: changes announced by the server", .serialized)
struct EventTests {
    private static func flags(_ greeting: String) -> Data {
        Data(#"{"flags":{"welcome":{"value":"\#(greeting)"},"other":{"value":1}}}"#.utf8)
    }

    private func open(
        _ time: any TimeSource = SystemTime(),
        fault: OFREPMockFault? = nil
    ) async throws -> (mock: OFREPMock, server: MockServer, client: ExperimentationClient) {
        let mock = OFREPMock()
        try await mock.load(Self.flags("Hello!"))
        mock.set(fault)
        let server = MockServer(mock)
        try await server.start()
        let client = try await ExperimentationClient(
            provider: OFREPProvider(
                configuration: OFREPConfiguration(baseURL: try Endpoint(server.url), token: Secret(OFREPMock.token))
            ),
            environment: ClientEnvironment(time: time, jitter: { 0 })
        )
        return (mock, server, client)
    }

    @Test("a change reaches a session without a refresh, which says what changed; the question names the event")
    func change() async throws {
        let (mock, server, client) = try await open()
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        try await eventually("a listener") { mock.listeners == 1 }
        var changes = session.changes.makeAsyncIterator()
        try await mock.load(Self.flags("Good day!"))
        #expect(await changes.next() == DecisionChange(flags: ["welcome"], status: .ready))
        #expect(session.string("welcome", default: "") == "Good day!")
        let query = server.journal(of: "flags").last?.request.queryItem("flagConfigEtag")
        #expect(query == "version-3")
        await client.shutdown()
        try await eventually("the stream is closed") {
            mock.tellChange()
            return mock.listeners == 0
        }
        await server.stop()
    }

    @Test("several sessions share one stream, and all are updated")
    func shared() async throws {
        let (mock, server, client) = try await open()
        let sessions = (0..<5).map { client.session(for: User(id: "u-\($0)")) }
        for session in sessions { try await session.refresh() }
        try await eventually("a listener") { mock.listeners >= 1 }
        try await mock.load(Self.flags("Good day!"))
        try await eventually("all of them know") {
            sessions.allSatisfy { $0.string("welcome", default: "") == "Good day!" }
        }
        #expect(server.journal(of: "events").count == 1)
        await client.shutdown()
        await server.stop()
    }

    private func wakes(_ time: ManualTime, within duration: Duration) -> Bool {
        time.untilNextWake.map { $0 <= duration } ?? false
    }

    @Test("half a minute without the server is STALE, and its return is READY, with missed changes")
    func silence() async throws {
        let time = ManualTime()
        let (mock, server, client) = try await open(time)
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        try await eventually("a listener") { mock.listeners == 1 }
        try await eventually("the question after the opening is planned") { wakes(time, within: .seconds(1)) }
        try await mock.load(Self.flags("Hello again!"))
        try await eventually("it is planned for the event") { wakes(time, within: .milliseconds(50)) }
        time.advance(by: .milliseconds(50))
        // A question in progress when the server stops would fail, which is STALE at once.
        try await eventually("it is answered") { session.string("welcome", default: "") == "Hello again!" }
        await server.stop()
        try await eventually("the stream has ended") { time.sleepers > 0 }
        #expect(session.status == .ready)
        try await eventually("STALE") {
            time.advance(by: .seconds(5))
            return session.status == .stale && client.status == .stale
        }
        #expect(session.string("welcome", default: "") == "Hello again!")
        try await mock.load(Self.flags("Good day!"))
        try await server.start()
        try await eventually("READY") {
            time.advance(by: .seconds(5))
            return session.status == .ready && client.status == .ready
        }
        #expect(session.string("welcome", default: "") == "Good day!")
        await client.shutdown()
        await server.stop()
    }

    @Test(
        "an invalid stream affects nothing but itself",
        arguments: [
            (OFREPMockFault.streamIsJSON, ProviderStatus.stale), (.streamEndsAtOnce, .ready), (.streamIsGone, .stale),
            (.streamRefuses, .stale), (.streamsAsObject, .ready), (.uselessStreams, .ready), (.strangeStreams, .ready),
            (.streamBabbles, .ready),
        ]
    )
    func halfRight(fault: OFREPMockFault, status: ProviderStatus) async throws {
        let time = ManualTime()
        let (_, server, client) = try await open(time, fault: fault)
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        for _ in 0..<(status == .stale ? 0 : 20) {
            time.advance(by: .seconds(1))
            await Task.yield()
        }
        try await eventually("\(status)") {
            if status == .stale { time.advance(by: .seconds(5)) }
            return session.status == status
        }
        #expect(session.string("welcome", default: "") == "Hello!")
        // A handful of attempts in all these minutes, whatever the stream does.
        #expect(server.journal(of: "events").count < 50)
        await client.shutdown()
        await server.stop()
    }
}
