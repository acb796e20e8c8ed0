import AdapterKit
import Experimentation
import ExperimentationTesting
import GatewayWaiting
import OFREPServerSuite
import Testing

@testable import GatewayServer

@Suite("The server suite over the gateway")
struct ServerSuiteTests {
    /// What the gateway of a test has.
    private static func server(_ served: Served) throws -> OFREPServer {
        var server = OFREPServer(
            try Endpoint("http://127.0.0.1:\(served.wire.port)"),
            token: "t0ken",
            name: "xp-gateway"
        )
        server.declaration.features = [.entityTags, .eventStreams, .apiKeys]
        server.declaration.otherAttributes = ["plan": "pro"]
        server.declaration.types = [
            "bool": .boolean, "text": .string, "whole": .integer, "float": .float, "fraction": .float, "plan": .float,
            "object": .object,
        ]
        server.declaration.otherToken = "0ther"
        server.declaration.exhaustedToken = "exhausted"
        server.declaration.tooManyBodyBytes = served.gateway.configuration.limits.bodyBytes
        server.declaration.change = ServerDeclaration.Trigger {
            for flags in [[InMemoryFlag("text", "red")], Served.flags] {
                served.provider.replace(flags: flags)
                try await served.client.refresh(force: true)
            }
        }
        server.declaration.shutDown = ServerDeclaration.Trigger {
            await served.shutDown()
            // The services learn of it one after another.
            try await eventually("the shutdown has begun") { served.gateway.readiness.isDraining }
        }
        return server
    }

    @Test(
        "the gateway passes every applicable case, with answers at once and through the handlers",
        arguments: [Duration.seconds(3_600), .zero]
    )
    func passes(validity: Duration) async throws {
        let provider = Served.publisher(validFor: validity)
        let others = ["other": InMemoryProvider(flags: [InMemoryFlag("secret-of-others", true)])]
        let report = try await Served.run(over: provider, provider, others: others) { configuration in
            var exhausted = Served.tenant("exhausted", token: "exhausted")
            exhausted.rateLimit = RateLimit(perSecond: 0.01, burst: 0)
            configuration.tenants += [Served.tenant("other", token: "0ther"), exhausted]
        } body: { served in
            try await ServerSuite().run(against: try Self.server(served))
        }
        #expect(report.failed == [], "\(report.text())")
        let skipped = report.results.filter { $0.outcome.word == "skipped" }.map(\.name)
        // No flag of the provider in memory fails.
        #expect(skipped == ["bulk/failures", "single/failing"])
    }
}
