import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import GatewayServer

/// A vendor that is asked for each user, and that a test can take away.
final class AskedVendor: ExperimentationProvider, DecisionSource {
    let name = "asked"
    let scope = ""
    let capabilities: Set<Capability> = [.flags]
    let freshness = Freshness()
    private let state = Mutex((count: 0, isAway: false))

    var count: Int { state.withLock { $0.count } }
    func set(away: Bool) { state.withLock { $0.isAway = away } }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .asked(self))
    }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let (number, isAway) = state.withLock { state in
            state.count += 1
            return (state.count, state.isAway)
        }
        if isAway { throw ExperimentationError(.transport, "gone") }
        return .decided(Decisions(flags: [("number", Resolution(.int(number), variant: "n", reason: .split))]))
    }
}

@Suite("A vendor that is asked for each user")
struct AskedVendorTests {
    private let time = ManualTime()
    private let vendor = AskedVendor()

    private func gateway(_ change: (inout TenantConfiguration) -> Void = { _ in }) async throws -> Gateway {
        var tenant = Served.tenant()
        change(&tenant)
        let vendor = vendor
        return try await Gateway(
            GatewayConfiguration(tenants: [tenant]),
            environment: ClientEnvironment(time: time)
        ) { _ in vendor }
    }

    private func ask(_ gateway: Gateway, _ user: String = "ada") async -> (status: Int, tag: String?) {
        let answer = await gateway.responder.tenants.tenants[0].evaluator.evaluateAll(User(id: user), ifNoneMatch: nil)
        return (answer.status.code, answer.fields[.eTag])
    }

    private func metrics(_ gateway: Gateway) async -> String {
        let figures = await TenantFigures(gateway.responder.tenants.tenants[0])
        return MetricsText.of(Counters.Figures(), [figures], isReady: true)
    }

    @Test("is asked once per lifetime of an answer, and the tag stays the same")
    func lifetime() async throws {
        let gateway = try await gateway()
        let tag = await ask(gateway).tag
        for _ in 0..<20 { #expect(await ask(gateway).tag == tag) }
        #expect(vendor.count == 1)
        _ = await ask(gateway, "bob")
        #expect(vendor.count == 2)
        let metrics = await metrics(gateway)
        #expect(metrics.contains(#"xp_gateway_decisions_total{tenant="shop",source="fresh"} 20"#), "\(metrics)")
        #expect(metrics.contains(#"xp_gateway_decisions_total{tenant="shop",source="asked"} 2"#))
        #expect(metrics.contains(#"xp_gateway_decisions_users{tenant="shop"} 2"#))
    }

    @Test("that is away isn't asked by every request, and known users get their last answer")
    func away() async throws {
        let gateway = try await gateway()
        #expect(await ask(gateway).status == 200)
        vendor.set(away: true)
        time.advance(by: .seconds(600))
        for user in 0..<200 {
            #expect(await ask(gateway, "u\(user)").status == 503)
            #expect(await ask(gateway).status == 200)
        }
        #expect(vendor.count < 10, "\(vendor.count)")
        vendor.set(away: false)
        time.advance(by: .seconds(2))
        #expect(await ask(gateway, "u1").status == 200)
        let metrics = await metrics(gateway)
        #expect(metrics.contains(#"xp_gateway_decisions_total{tenant="shop",source="refused"} "#), "\(metrics)")
    }

    @Test("is asked each time, if the tenant's settings say so")
    func off() async throws {
        let gateway = try await gateway {
            $0.reuse = AnswerReuse(lifetime: .zero, grace: .zero, failures: .zero)
        }
        for _ in 0..<5 {
            _ = await ask(gateway)
            time.advance(by: .milliseconds(1))
        }
        #expect(vendor.count == 5)
    }

    @Test("changed decision settings open another connection, and changed tokens don't")
    func reload() async throws {
        let gateway = try await gateway()
        let first = gateway.responder.tenants.tenants[0].connection
        var tenant = Served.tenant(token: "other")
        try await gateway.reload([tenant])
        #expect(gateway.responder.tenants.tenants[0].connection === first)
        tenant.reuse.lifetime = .seconds(1)
        try await gateway.reload([tenant])
        #expect(gateway.responder.tenants.tenants[0].connection !== first)
    }
}
