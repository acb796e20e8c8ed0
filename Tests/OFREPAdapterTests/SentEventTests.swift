import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import MockVendors
import Testing

@testable import OFREPAdapter

/// Events for a server that accepts them in addition to the protocol.
@Suite("OFREP: events for a server that accepts them")
struct SentEventTests {
    private func client(
        _ transport: any HTTPTransport,
        eventsPath: String? = "/v1/events"
    ) async throws -> ExperimentationClient {
        try await Samples.client(transport) { $0.eventsPath = eventsPath }
    }

    /// An answer that names each event's outcome.
    private static func outcomes(_ outcomes: [String], status: Int = 200) -> ScriptedTransport.Answer {
        let events = outcomes.map { #"{"status":"\#($0)","errorDetails":"no word for it"}"# }.joined(separator: ",")
        return .json(#"{"events":[\#(events)]}"#, status: status)
    }

    @Test("an event is sent as the gateway's schema has it, to the path below the base, with the credentials")
    func request() async throws {
        let transport = ScriptedTransport([Self.outcomes(["accepted"])])
        let client = try await client(transport)
        let session = client.session(for: User(id: "u-1", anonymousID: "a-1", attributes: ["plan": "pro"]))
        let id = try await session.trackWithID(.goalCompleted("signed-up"))
        try await client.flush()
        let request = try #require(transport.requests.first)
        #expect((request.method, request.path) == ("POST", "/app/v1/events"))
        #expect(request.request.headerFields[.authorization] == "Bearer token-canary")
        let event = try #require(
            JSON.parse(Array(request.text.utf8)).objectValue?["events"]?.arrayValue?.first?.objectValue
        )
        #expect(Set(event.keys) == ["id", "user", "event", "at"])
        #expect(event["id"]?.stringValue == id)
        #expect(event["user"]?.objectValue?["anonymousId"] == "a-1")
        #expect(event["event"] == ["type": "goalCompleted", "name": "signed-up"])
        #expect(try await client.ledger().delivered == 1)
        await client.shutdown()
    }

    @Test("an event has neither the session nor the surface, because the gateway's schema has no members for them")
    func leftOut() throws {
        let envelope = Envelope(
            id: "e-1",
            identity: Identity(id: "u-1"),
            session: "s",
            surface: "home",
            campaignTargets: ["hero"],
            event: .custom("a"),
            date: Date(timeIntervalSince1970: 0)
        )
        let members = try OFREPTranslation.event(envelope).objectValue ?? [:]
        #expect(Set(members.keys) == ["id", "user", "event", "at"])
    }

    @Test(
        "each event has the verdict that the server names, and everything else the shared table's",
        arguments: [
            (
                200,
                #"{"events":[{"status":"accepted"},{"status":"repeated"},{"status":"refused","errorDetails":"no"}]}"#,
                [.delivered, .delivered, .rejected("no")]
            ),
            (
                503, #"{"events":[{"status":"accepted"},{"status":"failed"},{"status":"refused"}]}"#,
                [.delivered, .outage(because: .answered(503)), .rejected("the server refuses it")]
            ),
            (200, #"{"events":[{"status":"accepted"}]}"#, [.outage(because: .foreign)]),
            (200, "<html>Sign in</html>", [.outage(because: .foreign)]),
            (503, "", [.outage(because: .answered(503))]), (413, "", [.split("the vendor answered 413")]),
            (401, "", [.stop(ExperimentationError(.unauthorized, "the vendor answered 401"))]),
            (404, "", [.failed("the vendor answered 404")]),
        ] as [(Int, String, [Verdict])]
    )
    func verdicts(status: Int, body: String, expected: [Verdict]) {
        let reply = HTTPReply(response: HTTPResponse(status: .init(code: status)), body: Array(body.utf8))
        let verdicts = OFREPErrors.report(on: 3, reply, now: Date(timeIntervalSince1970: 0)).verdicts(count: 3)
        #expect(Array(verdicts) == (expected.count == 1 ? Array(repeating: expected[0], count: 3) : expected))
    }

    @Test("over a socket a server that accepts each id once gets all events once, whatever is repeated")
    func overSocket() async throws {
        let mock = OFREPMock()
        mock.setTakesEvents(true)
        let server = MockServer(mock)
        try await server.start()
        let client = try await ExperimentationClient(
            provider: OFREPProvider(
                configuration: OFREPConfiguration(
                    baseURL: try Endpoint(server.url),
                    token: Secret(OFREPMock.token),
                    changes: .none,
                    eventsPath: "v1/events"
                )
            ),
            environment: ClientEnvironment(time: ManualTime(), jitter: { 0 })
        )
        let session = client.session(for: User(id: "u-1"))
        for number in 0..<30 { try await session.track(.custom("event-\(number)", value: Double(number))) }
        _ = try await client.flush()
        let names = mock.receivedEvents.compactMap {
            try? JSON.parse(Array($0.json.utf8)).objectValue?["event"]?.objectValue?["name"]?.stringValue
        }
        #expect(names == (0..<30).map { "event-\($0)" })
        #expect(try await client.ledger().delivered == 30)
        await client.shutdown()
        await server.stop()
    }

    @Test("without a path there are no events, and tracking says so")
    func without() async throws {
        let client = try await client(ScriptedTransport([]), eventsPath: nil)
        let provider = OFREPProvider(configuration: OFREPConfiguration(baseURL: Samples.base))
        #expect(provider.capabilities.isDisjoint(with: [.tracking, .commerce, .batching, .eventIDs, .consentSignal]))
        let error = await #expect(throws: ExperimentationError.self) {
            try await client.session(for: User(id: "u-1")).track(.custom("a"))
        }
        #expect(error?.code == .unsupported)
        await client.shutdown()
    }

    @Test("a path that isn't one is refused when the client starts", arguments: ["", "/", "a?b", "../events", "a#b"])
    func badPath(path: String) async {
        let error = await #expect(throws: ExperimentationError.self) {
            _ = try await client(ScriptedTransport([]), eventsPath: path)
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("events") == true)
    }
}
