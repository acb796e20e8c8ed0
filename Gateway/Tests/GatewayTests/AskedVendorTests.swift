import Experimentation
import ExperimentationTesting
import Foundation
import GatewayBodies
import HTTPTypes
import NIOCore
import Synchronization
import Testing

@testable import GatewayServer

/// A vendor that is asked for each user, and that a test can make unreachable.
final class AskedVendor: ExperimentationProvider, DecisionSource, ChangeSource {
    let name = "asked"
    let scope = ""
    let capabilities: Set<Capability> = [.flags]
    let freshness = Freshness()
    private let state = Mutex((count: 0, isAway: false, isDisabled: false))
    private let listener = Mutex<AsyncStream<ChangeNotice>.Continuation?>(nil)

    var count: Int { state.withLock { $0.count } }
    func set(away: Bool) { state.withLock { $0.isAway = away } }
    func set(disabled: Bool) { state.withLock { $0.isDisabled = disabled } }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = ProviderRoles(decisions: .asked(self))
        roles.changes = self
        return roles
    }

    func notices() -> AsyncStream<ChangeNotice> {
        let (notices, continuation) = AsyncStream.makeStream(of: ChangeNotice.self)
        listener.withLock { $0 = continuation }
        return notices
    }

    func setApplicationState(_ applicationState: ApplicationState) {}

    /// Announces a change.
    func tellChange() { _ = listener.withLock { $0 }?.yield(.changed) }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let (number, isAway, isDisabled) = state.withLock { state in
            state.count += 1
            return (state.count, state.isAway, state.isDisabled)
        }
        if isAway { throw ExperimentationError(.transport, "gone") }
        if isDisabled { return .disabled }
        return .decided(
            Decisions(flags: [
                ("number", Resolution(.int(number), variant: "n", reason: .split)),
                ("left", Resolution(.null, variant: "l", reason: .static)),
            ])
        )
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

    @Test("is asked again after it has announced a change, even if a listener asks at once")
    func toldOfChange() async throws {
        let gateway = try await gateway()
        let tag = await ask(gateway).tag
        let (told, tell) = AsyncStream.makeStream(of: Int.self)
        let changes = gateway.responder.tenants.tenants[0].connection.changes
        let place = changes.listen(ChangeStreams.Listener(tell: { tell.yield($0) }, end: {}))
        #expect(place != nil)
        for number in 1...3 {
            vendor.tellChange()
            for await count in told where count == number { break }
            #expect(await ask(gateway).tag != tag)
            #expect(vendor.count == 1 + number)
        }
        await gateway.close()
    }

    @Test("isn't asked by every request while it is away, and known users get their last answer")
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

    @Test("has exactly the flags seen before, as DISABLED, while it is switched off")
    func switchedOff() async throws {
        func ask(_ gateway: Gateway, _ key: String) async -> (status: Int, body: String) {
            let evaluator = gateway.responder.tenants.tenants[0].evaluator
            guard key.isEmpty else {
                let request = EvaluationRequest(user: User(id: "ada"), isConsentStated: false)
                let answer = await evaluator.evaluate(key, request)
                return (answer.status.code, answer.status.code == 200 ? "DISABLED" : "")
            }
            let answer = try? await evaluator.evaluation(for: User(id: "ada"), ifNoneMatch: nil)
            return (answer?.status.code ?? 0, answer?.body.map { String(buffer: $0) } ?? "")
        }
        let gateway = try await gateway()
        vendor.set(disabled: true)
        // No flag is known, so none can be reported as absent.
        #expect(await ask(gateway, "number") == (200, "DISABLED"))
        vendor.set(disabled: false)
        time.advance(by: .seconds(600))
        #expect(await ask(gateway, "").status == 200)
        vendor.set(disabled: true)
        time.advance(by: .seconds(600))
        let all = await ask(gateway, "").body
        #expect(
            all.contains(
                #""flags":[{"key":"left","reason":"DISABLED","variant":""},{"key":"number","reason":"DISABLED","variant":""}]"#
            ),
            "\(all)"
        )
        for key in ["number", "left"] { #expect(await ask(gateway, key) == (200, "DISABLED")) }
        #expect(await ask(gateway, "nothing").status == 404)
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
