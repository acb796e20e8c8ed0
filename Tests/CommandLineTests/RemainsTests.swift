import Foundation
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Why events wait, in the words of xp", .serialized)
struct RemainsTests {
    private static let line = #"{"user":{"id":"u","consent":true},"event":{"type":"custom","name":"e"}}"#

    private static func script(_ fault: String, on mock: ServedMock) async throws {
        var request = URLRequest(url: try #require(URL(string: mock.url + "/_mock/script")))
        request.httpMethod = "POST"
        request.httpBody = Data(#"[{"times": null, "fault": \#(fault)}]"#.utf8)
        let (_, answer) = try await URLSession.shared.data(for: request)
        #expect((answer as? HTTPURLResponse).map { $0.statusCode / 100 } == 2)
    }

    private static let later = ": a longer --deadline, or xp outbox flush later, delivers the rest"

    @Test(
        "a vendor that is busy, broken or slow isn't called unreachable",
        arguments: [
            (#"{"kind": "status", "status": 429}"#, "1", "asks for patience" + later),
            (#"{"kind": "status", "status": 503, "retryAfter": "60"}"#, "1", "asks for patience" + later),
            (#"{"kind": "status", "status": 503}"#, "1", "doesn't take the events: answered 503"),
            (#"{"kind": "stall"}"#, "1", "hasn't answered yet" + later),
            (#"{"kind": "reset"}"#, "1", "doesn't take the events: it can't be reached"),
        ]
    )
    func reasons(fault: String, deadline: String, said: String) async throws {
        let mock = try await ServedMock("flagship")
        try await Self.script(fault, on: mock)
        let store = mock.folder.appending(path: "outbox.db").path
        let configuration = try mock.configuration()
        let tracked = try await Tool.run(
            ["track", "--config", configuration, "--store", store, "--deadline", deadline],
            input: Self.line
        )
        #expect(tracked.status == 69)
        #expect(tracked.errors == "xp: 1 event waits in \(store)\nxp: flagship \(said)\n")
        let flushed = try await Tool.run(
            ["outbox", "flush", "--store", store, "--config", configuration, "--deadline", deadline]
        )
        #expect(flushed.errors == "xp: flagship \(said); 1 waits\n")
        _ = try await mock.end()
    }

    @Test("events that wait for the adapter's rate limit aren't blamed on the vendor")
    func ownPace() async throws {
        let mock = try await ServedMock("evergage")
        let store = mock.folder.appending(path: "outbox.db").path
        let lines = (0..<14).map { #"{"user":{"id":"u"},"event":{"type":"custom","name":"e\#($0)"}}"# }
        let result = try await Tool.run(
            ["track", "--config", try mock.configuration(), "--store", store, "--deadline", "1"],
            input: lines.joined(separator: "\n")
        )
        #expect(result.status == 69)
        #expect(
            result.errors == """
                xp: 4 events wait in \(store)
                xp: evergage's limit of requests (10 in 5.0 seconds) was reached\(Self.later)

                """
        )
        _ = try await mock.end()
    }
}
