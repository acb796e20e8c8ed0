import ConformanceKit
import ConformanceSubjects
import Experimentation
import ExperimentationTesting
import Foundation
import GatewayWaiting
import MockVendors
import Testing

@testable import GatewayServer

/// Readiness where no client asks for a flag: behind a balancer, an instance that isn't ready gets no requests.
@Suite("Readiness")
struct ReadinessTests {
    private let time = ManualTime()

    private func served(
        _ vendor: any ExperimentationProvider,
        body: @escaping @Sendable (Served) async throws -> Void
    ) async throws {
        try await Served.run(over: vendor, time: time, body: body)
    }

    private static func isReady(_ served: Served) async throws -> Bool {
        try await served.wire.request("GET", "/ready").status == 200
    }

    @Test("a vendor whose rules are fetched on demand is ready without a request")
    func onDemand() async throws {
        try await served(ChangingVendor()) { served in
            try await eventually("it is ready", within: .seconds(20)) { try await Self.isReady(served) }
        }
    }

    @Test("Sigma, whose adapter fetches nothing by itself, is ready without a request")
    func sigma() async throws {
        let (vendor, _) = try await #require(Vendor.named("sigma")).mock(with: .shop)
        let mock = MockServer(vendor)
        try await mock.start()
        var settings = vendor.credentials.mapValues { FlagValue.string($0) }
        settings["vendor"] = "sigma"
        settings["endpoints"] = .object(mock.endpoints.mapValues { .string($0) })
        var tenant = Served.tenant()
        tenant.vendor = .object(settings)
        try await Served.run(over: try tenant.provider(variables: [:])) { served in
            try await eventually("it is ready", within: .seconds(30)) { try await Self.isReady(served) }
        }
        await mock.stop()
    }

    @Test("a vendor that is away at the start is ready once it is back, without a request")
    func awayAtStart() async throws {
        let (vendor, time) = (ChangingVendor(validFor: .seconds(3_600)), time)
        vendor.change { $0.fails = true }
        try await served(vendor) { served in
            try await eventually("the vendor has failed", within: .seconds(20)) { served.client.status == .error }
            #expect(try await !Self.isReady(served))
            vendor.change { $0.fails = false }
            try await eventually("it is ready", within: .seconds(20)) {
                time.advance(by: .seconds(1))
                return try await Self.isReady(served)
            }
        }
    }

    @Test("a change of rules that are fetched on demand is announced to listeners without a request")
    func announced() async throws {
        let (vendor, time) = (ChangingVendor(validFor: .seconds(30)), time)
        try await served(vendor) { served in
            try await eventually("it is ready", within: .seconds(20)) { try await Self.isReady(served) }
            let changes = served.gateway.responder.tenants.tenants[0].connection.changes
            let before = changes.changes
            vendor.change { $0.value = 1 }
            try await eventually("the change is announced", within: .seconds(20)) {
                time.advance(by: .seconds(1))
                return changes.changes > before
            }
        }
    }

    @Test("a vendor that is asked for each user stays ready, whatever one user's question meets")
    func asked() async throws {
        let (vendor, time) = (AskedVendor(), time)
        vendor.set(away: true)
        try await served(vendor) { (served: Served) async throws -> Void in
            #expect(try await Self.isReady(served))
            let question = #"{"context":{"targetingKey":"ada"}}"#
            #expect(try await served.wire.post("/ofrep/v1/evaluate/flags", question).status == 503)
            #expect(served.client.status == .error)
            #expect(try await Self.isReady(served))
            vendor.set(away: false)
            // After that time the vendor may be asked again.
            time.advance(by: .seconds(3))
            #expect(try await served.wire.post("/ofrep/v1/evaluate/flags", question).status == 200)
            #expect(try await Self.isReady(served))
        }
    }

    @Test("an instance that is ready is no longer so once it is asked to end, or its vendor fails for good")
    func goesBack() async throws {
        let provider = Served.publisher(validFor: .seconds(1))
        try await Served.run(over: provider, provider, time: time) { served in
            try await eventually("it is ready", within: .seconds(20)) { try await Self.isReady(served) }
            provider.setFailure(ExperimentationError(.providerFatal, "The account is closed."))
            try? await served.client.refresh(force: true)
            // Rules that are there remain in use.
            #expect(try await Self.isReady(served))
            served.gateway.readiness.drain()
            let answer = try await served.wire.request("GET", "/ready")
            #expect(answer.status == 503)
            #expect(answer.body.contains("draining"))
        }
        let closed = Served.publisher()
        closed.setFailure(ExperimentationError(.providerFatal, "The account is closed."))
        try await Served.run(over: closed, closed, time: time) { served in
            try await eventually("the vendor has failed", within: .seconds(20)) { served.client.status == .fatal }
            #expect(try await !Self.isReady(served))
        }
    }
}
