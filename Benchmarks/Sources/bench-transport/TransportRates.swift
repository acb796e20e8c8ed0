import AdapterKit
import BareHTTP
import BenchmarkHarness
import Experimentation
import Foundation
import HTTPTypes

/// Compares the HTTP engine with libcurl alone: small requests to a server with minimal work.
@main
struct TransportRates {
    private static let body = #"{"type":"custom","name":"spun-wheel"}"#
    private static let rounds = 9

    static func main() async throws {
        var table = Table("Transport (small POSTs a second; ratios within this run)")
        let collector = Collector()
        let transport = DefaultTransport.make()
        // Arguments select numbers of callers.
        let wanted = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        for (callers, total, bar) in [(1, 3_000, 0.7), (8, 16_000, 0.8), (64, 32_000, 0.9)]
        where wanted.isEmpty || wanted.contains(callers) {
            _ = try await rate(transport, collector.port, callers: callers, total: total / 10)
            // Interleaved, with a ratio per round, because the machine's speed varies over time.
            var figures: [(bare: Double, engine: Double)] = []
            var (bareSeconds, engineSeconds) = (0.0, 0.0)
            for _ in 0..<rounds {
                let start = ownSeconds()
                let bare = bare_http_rate(collector.port, body, Int32(callers), Int32(total))
                precondition(bare > 0)
                let middle = ownSeconds()
                figures.append((bare, try await rate(transport, collector.port, callers: callers, total: total)))
                bareSeconds += middle - start
                engineSeconds += ownSeconds() - middle
            }
            figures.sort { $0.engine / $0.bare < $1.engine / $1.bare }
            let middle = figures[rounds / 2]
            let who = callers == 1 ? "one caller" : "\(callers) callers"
            table.add("libcurl alone, \(who)", middle.bare, unit: "/s")
            table.add("the engine, \(who)", middle.engine, unit: "/s")
            table.add(
                "the engine / libcurl alone, median of \(rounds)",
                middle.engine / middle.bare,
                atLeast: bar,
                unit: "×"
            )
            for (name, figure) in [("least", figures[0]), ("most", figures[rounds - 1])] {
                table.add("the same, \(name)", figure.engine / figure.bare, unit: "×")
            }
            let requests = Double(total * rounds) / 1e6
            table.add("processor's time of a request, libcurl alone", bareSeconds / requests, unit: "µs")
            table.add("processor's time of a request, the engine", engineSeconds / requests, unit: "µs")
        }
        if table.missedBars > 0 {
            print("\n\(table.missedBars) bars missed")
            exit(1)
        }
    }

    private static func rate(
        _ transport: any HTTPTransport,
        _ port: UInt16,
        callers: Int,
        total: Int
    ) async throws -> Double {
        let post = HTTPRequest(
            method: .post,
            scheme: "http",
            authority: "127.0.0.1:\(port)",
            path: "/events",
            headerFields: [.contentType: "application/json"]
        )
        let bytes = Array(body.utf8)
        let start = ContinuousClock.now
        try await withThrowingTaskGroup { group in
            for _ in 0..<callers {
                group.addTask {
                    for _ in 0..<(total / callers) {
                        let reply = try await transport.send(post, body: bytes, limits: HTTPLimits())
                        precondition(reply.status == 200)
                    }
                }
            }
            try await group.waitForAll()
        }
        return Double(total) / ((ContinuousClock.now - start).nanoseconds / 1e9)
    }
}
