import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Sessions in an application's tests")
struct SessionTests {
    @Test("a flag has another value while a closure runs, and then its former one")
    func override() async throws {
        let provider = InMemoryProvider(flags: [InMemoryFlag("theme", "light"), InMemoryFlag("size", 1)])
        let client = try await ExperimentationClient(provider: provider)
        let session = client.session(for: User(id: "u-1", consent: .granted))
        try await session.refresh()
        await client.withFlag("theme", as: "dark") {
            #expect(session.details("theme", default: "none").reason == .localOverride)
            await client.withFlag("theme", as: "blue") { #expect(session.string("theme", default: "none") == "blue") }
            #expect(session.string("theme", default: "none") == "dark")
            #expect(session.int("size", default: 0) == 1)
        }
        #expect(session.string("theme", default: "none") == "light")
        #expect(client.flagOverrides == [:])
        await #expect(throws: CancellationError.self) {
            try await client.withFlag("theme", as: "dark") { throw CancellationError() }
        }
        #expect(client.flagOverrides == [:])
        await client.shutdown()
    }

    @Test("records are listed in order, in short form, for all users or for one")
    func happenings() async throws {
        let provider = InMemoryProvider()
        let client = try await ExperimentationClient(provider: provider)
        for id in ["u-1", "u-2"] {
            let session = client.session(for: User(id: id, consent: .granted))
            try await session.track(.screenView("cart"))
            try await session.track(.custom("paid", value: 3))
        }
        try await client.flush()
        let one: [Happening] = [.event("screenView", "cart"), .event("custom", "paid")]
        #expect(provider.happenings(of: "u-2") == one)
        #expect(provider.happenings().count == 4)
        let assignment = Assignment(
            experiment: Experiment(id: "checkout", name: "Checkout", kind: "ab"),
            variation: Variation(id: "b", name: "B", isControl: false)
        )
        let exposure = TrackingEvent(.exposure(Exposure(assignment: assignment)))
        #expect(Happening(exposure) == .exposure("checkout", "b"))
        await client.shutdown()
    }

    @Test("the exposure of a read is listed among the events at its place")
    func exposuresInOrder() async throws {
        let experiment = InMemoryExperiment(
            Experiment(id: "checkout"),
            arms: [.init(Variation(id: "b"), weight: 100, flags: ["color": "blue"])]
        )
        let provider = InMemoryProvider(experiments: [experiment])
        let client = try await ExperimentationClient(provider: provider)
        let session = client.session(for: User(id: "u-1", consent: .granted))
        try await session.refresh()
        try await session.track(.screenView("cart"))
        for _ in 0..<2 { #expect(session.string("color", default: "red") == "blue") }
        try await session.track(.custom("paid"))
        try await client.flush()
        #expect(
            provider.happenings() == [
                .event("screenView", "cart"), .exposure("checkout", "b"), .event("custom", "paid"),
            ]
        )
        await client.shutdown()
    }

    @Test("a recorded session is played back, failures included, and contains no credentials")
    func playback() async throws {
        let recorder = RecordingTransport(
            ScriptedTransport([
                .json(#"{"n":1}"#), .json(#"{"n":2}"#, status: 500), .failure(ExperimentationError(.timeout, "late")),
                .status(304, headers: [.setCookie: "cookie-canary", .eTag: "7"]),
            ])
        )
        func send(_ transport: any HTTPTransport, _ path: String) async -> String {
            let request = HTTPRequest(
                method: .get,
                scheme: "https",
                authority: "example.com",
                path: path,
                headerFields: [.authorization: "token-canary"]
            )
            do throws(ExperimentationError) {
                let reply = try await transport.send(request, body: [], limits: HTTPLimits())
                return "\(reply.status) \(reply.text) \(reply.response.headerFields[.eTag] ?? "")"
            } catch {
                return error.code.rawValue
            }
        }
        let paths = ["/a", "/a", "/b?x=1", "/c"]
        var lived: [String] = []
        for path in paths { lived.append(await send(recorder, path)) }
        let file = try JSONEncoder().encode(recorder.recording)
        #expect(!String(decoding: file, as: UTF8.self).contains("canary"))
        let player = ScriptedTransport(playing: try JSONDecoder().decode(Recording.self, from: file))
        var played: [String] = []
        // The order differs between paths but is the same for each path.
        for path in ["/c", "/a", "/b?x=1", "/a", "/a", "/d"] { played.append(await send(player, path)) }
        #expect(played == [lived[3], lived[0], lived[2], lived[1], lived[1], "TRANSPORT"])
    }
}
