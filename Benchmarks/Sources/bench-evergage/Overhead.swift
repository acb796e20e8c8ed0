import AdapterKit
import BenchmarkHarness
import EvergageAdapter
import Experimentation
import Foundation
import HTTPTypes
import MockVendors

/// From `trackAction` to the handler, compared with a bare request to the same server by the same engine.
@MainActor
enum Overhead {
    private static let rounds = 1_000

    static func measure(_ table: inout Table) async throws {
        let mock = EvergageMock()
        try await mock.load(
            Data(
                """
                {"campaigns":[{"campaignId":"c1","experienceId":"x1","target":"banner","actions":["Hello"],
                               "data":{"text":"Welcome back"}}]}
                """.utf8
            )
        )
        let server = MockServer(mock)
        try await server.start()
        let evergage = Evergage(store: .inMemory(), anonymousID: "anonymous", sendsLifecycleEvents: false)
        // Without the rate limit of ten requests in five seconds, which is meant for applications.
        evergage.start(
            try EvergageConfiguration(account: "acme", dataset: "engage", endpoint: Endpoint(server.url), pace: nil)
        )
        await evergage.flush()
        guard let screen = evergage.makeScreen(name: "Home") else { return }
        screen.didAppear()
        let arrivals = AsyncStream<ContinuousClock.Instant>.makeStream()
        screen.setCampaignHandler(forTarget: "banner") { _ in arrivals.continuation.yield(.now) }
        var arrived = arrivals.stream.makeAsyncIterator()

        screen.trackAction("Hello")
        _ = await arrived.next()
        guard let sample = server.journal.last?.request else { return }
        let transport = DefaultTransport.make()
        func post() async throws {
            let request = HTTPRequest(
                method: .post,
                scheme: "http",
                authority: String(server.url.dropFirst(7)),
                path: sample.path,
                headerFields: [
                    .contentType: "application/json; charset=utf-8", .accept: "application/json",
                    HTTPField.Name("X-Event-Id") ?? .from: UUID().uuidString,
                ]
            )
            let reply = try await transport.send(request, body: sample.body, limits: HTTPLimits())
            precondition(reply.status == 200)
        }
        var bare: [Double] = []
        var whole: [Double] = []
        // Interleaved, so that other load on the machine affects both alike.
        for round in 0..<(rounds + 50) {
            let asked = ContinuousClock.now
            try await post()
            let answered = ContinuousClock.now
            screen.trackAction("Hello")
            guard let called = await arrived.next() else { return }
            guard round >= 50 else { continue }
            bare.append((answered - asked).nanoseconds / 1e6)
            whole.append((called - answered).nanoseconds / 1e6)
        }
        await server.stop()
        let (request, handler) = (median(bare), median(whole))
        table.add("one bare request", request, unit: "ms")
        table.add("from trackAction to the handler", handler, unit: "ms")
        table.add("overhead at the median", handler - request, atMost: 1, unit: "ms")
    }

    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}
