import Experimentation
import ExperimentationComposition
import ExperimentationTesting
import Testing
import Waiting

@Suite("Kill switches of several vendors")
struct SwitchesTests {
    /// A vendor that is asked for each user: it lets one user wait, and is off for all others.
    private struct Slow: DecisionSource {
        let gate = AsyncGate()
        let freshness = Freshness()

        func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
            guard context.user.id == "slow" else { return .disabled }
            await gate.wait()
            return .decided(.none)
        }
    }

    private static func decide(_ roles: ProviderRoles, for id: String) async throws {
        guard case .asked(let source) = roles.decisions else { return }
        _ = try await source.decisions(for: EvaluationContext(user: User(id: id), date: SystemTime().now))
    }

    private static func event(_ id: String) -> Envelope {
        Envelope(id: id, identity: Identity(id: "ada"), session: "s", event: .custom(id), date: SystemTime().now)
    }

    @Test("an answer to a request from before a switch was turned on doesn't turn it off")
    func late() async throws {
        let slow = Slow()
        let deciding = Playing(InMemoryProvider(name: "a")) { $0.decisions = .asked(slow) }
        let provider = try ComposedProvider(of: [deciding, Vendors.deciding("b", ["f": 1])])
        let roles = try await provider.start(in: ProviderContext())
        async let answer: Void = Self.decide(roles, for: "slow")
        try await eventually("the slow user's question") { slow.gate.waiting == 1 }
        try await Self.decide(roles, for: "quick")
        slow.gate.open()
        try await answer
        _ = await roles.furtherRoutes[0].sink.deliver([Self.event("e")])
        #expect(deciding.inner.delivered == [], "the vendor is off")
    }

    @Test(
        "a vendor that was disabled when it last decided gets events once it is enabled, even if it decides no longer"
    )
    func decidesNoMore() async throws {
        let (store, time) = (ClientStore.inMemory(), ManualTime())
        let former = Playing(InMemoryProvider(name: "a", flags: [InMemoryFlag("f", 1)], needsConsent: false)) { _ in }
        let other = Vendors.deciding("b", ["f": 2])
        func roles(_ table: DecisionTable) async throws -> ProviderRoles {
            let provider = try ComposedProvider(of: [former.asked, other.asked], decisions: table)
            let environment = ClientEnvironment(time: time)
            return try await provider.start(in: ProviderContext(of: provider, in: store.state, environment))
        }
        former.inner.setDisabled(true)
        try await Self.decide(roles(.from("a", "b")), for: "ada")
        let later = try await roles(.from("b"))
        let sink = later.furtherRoutes[0].sink
        func count(after id: String) async -> Int {
            _ = await sink.deliver([Self.event(id)])
            return former.inner.record.batches.count
        }
        #expect(await count(after: "1") == 0)
        time.advance(by: .seconds(30))
        #expect(await count(after: "2") == 1, "it says that it is still off")
        #expect(await count(after: "3") == 1)
        former.inner.setDisabled(false)
        time.advance(by: .seconds(30))
        #expect(await count(after: "4") == 2)
        #expect(await count(after: "5") == 3)
    }
}
