import AdapterKit
import BenchmarkHarness
import Experimentation
import HTTPTypes

/// What the HTTP engine itself takes: small requests to a server in the same process that answers at once.
enum Transport {
    static func measure(_ table: inout Table) async throws {
        let collector = Collector()
        let transport = DefaultTransport.make()
        let post = HTTPRequest(
            method: .post,
            scheme: "http",
            authority: "127.0.0.1:\(collector.port)",
            path: "/events",
            headerFields: [.contentType: "application/json"]
        )
        let body = Array(#"{"type":"custom","name":"spun-wheel"}"#.utf8)
        for (callers, each) in [(1, 10_000), (8, 5_000), (64, 1_000)] {
            var best = 0.0
            for _ in 0..<3 {
                best = max(
                    best,
                    try await Delivery.rate(callers * each) {
                        try await withThrowingTaskGroup { group in
                            for _ in 0..<callers {
                                group.addTask {
                                    for _ in 0..<each {
                                        let reply = try await transport.send(post, body: body, limits: HTTPLimits())
                                        precondition(reply.status == 200)
                                    }
                                }
                            }
                            try await group.waitForAll()
                        }
                    }
                )
            }
            table.add("small POSTs, \(callers) \(callers == 1 ? "caller" : "callers")", best, unit: "/s")
        }
    }
}
