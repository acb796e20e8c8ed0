import ExperimentationTesting
import Testing

@testable import Experimentation

@Suite("Decisions at once")
struct AtOnceTests {
    private static let ada = User(id: "ada", consent: .granted)
    private static let flags = [
        InMemoryFlag("color", "green"), InMemoryFlag("size", 7),
        InMemoryFlag(
            "plan",
            variants: ["small": 10, "large": 12],
            defaultVariant: "small",
            target: { $0["plan"]?.stringValue == "pro" ? "large" : nil }
        ),
    ]

    private static func provider(_ freshness: Freshness) -> InMemoryProvider {
        InMemoryProvider(
            flags: flags,
            experiments: [
                InMemoryExperiment(
                    Experiment(id: "button"),
                    arms: [.init(Variation(id: "blue"), weight: 100, flags: ["button": "blue"])]
                )
            ],
            freshness: freshness
        )
    }

    @Test("while rules are valid, what is decided at once is what is decided after a wait, for one flag and for all")
    func same() async throws {
        let client = try await ExperimentationClient(provider: Self.provider(Freshness(lifetime: .seconds(600))))
        #expect(client.decisionsAtOnce(for: Self.ada)?.keys == nil)
        try await client.refresh()
        for user in [Self.ada, User(id: "bob", attributes: ["plan": "pro"])] {
            let waited = try await client.decisions(for: user)
            let all = try #require(client.decisionsAtOnce(for: user))
            #expect(all.decisions == waited.decisions)
            #expect(!all.isStale)
            for key in waited.keys {
                let one = try #require(client.decisionAtOnce(of: key, for: user))
                let flag = try #require(one.flag)
                #expect(one.catalogue.resolution(ofFlag: flag, outcome: one.outcome ?? -1) == waited[key])
                #expect(one.assignment == waited[key]?.assignment.map { one.catalogue.assignments[$0] })
            }
        }
        let missing = try #require(client.decisionAtOnce(of: "nothing", for: Self.ada))
        #expect((missing.flag, missing.outcome) == (nil, nil))
        #expect(missing.assignment == nil)
        await client.shutdown()
    }

    @Test("nothing is decided at once that would have to be fetched, confirmed or held back")
    func waits() async throws {
        let time = ManualTime()
        let provider = Self.provider(Freshness(lifetime: .seconds(10)))
        let client = try await ExperimentationClient(provider: provider, environment: ClientEnvironment(time: time))
        func decides(_ user: User = Self.ada) -> Bool {
            let one = client.decisionAtOnce(of: "color", for: user) != nil
            #expect((client.decisionsAtOnce(for: user) != nil) == one)
            return one
        }
        try await client.refresh()
        #expect(decides())
        #expect(!decides(User(id: "")))
        time.advance(by: .seconds(11))
        #expect(!decides())
        try await client.refresh()
        #expect(decides())
        provider.setFailure(ExperimentationError(.transport, "gone"))
        try? await client.refresh(force: true)
        #expect(!decides())
        provider.setFailure(nil)
        provider.setDisabled(true)
        try? await client.refresh(force: true)
        #expect(!decides())
        provider.setDisabled(false)
        try await client.refresh(force: true)
        #expect(decides())
        await client.shutdown()
    }

    @Test("rules that no answer is valid for are never used at once")
    func alwaysAsked() async throws {
        let client = try await ExperimentationClient(provider: Self.provider(Freshness()))
        try await client.refresh()
        #expect(client.decisionsAtOnce(for: Self.ada)?.keys == nil)
        await client.shutdown()
    }

    @Test("what a user saw is recorded once, by the variation behind the flag")
    func exposes() async throws {
        let provider = Self.provider(Freshness(lifetime: .seconds(600)))
        let client = try await ExperimentationClient(provider: provider)
        try await client.refresh()
        for key in ["button", "button", "color"] {
            let decision = try #require(client.decisionAtOnce(of: key, for: Self.ada))
            try decision.expose()
        }
        try await client.untilStored()
        let waiting = try await client.waitingEvents().map(\.envelope.event)
        #expect(waiting.count == 1)
        guard case .exposure(let exposure)? = waiting.first?.kind else {
            Issue.record("no exposure")
            return
        }
        #expect(exposure.assignment.variation.id == "blue")
        await client.shutdown()
    }

    @Test(
        "a basis is current until rules, overrides, attributes, the kill switch or the time invalidate it"
    )
    func basis() async throws {
        let time = ManualTime()
        let provider = InMemoryProvider(
            flags: [InMemoryFlag("color", "green")],
            freshness: Freshness(lifetime: .seconds(600))
        )
        let client = try await ExperimentationClient(provider: provider, environment: ClientEnvironment(time: time))
        #expect(client.basisAtOnce() == nil)
        try await client.refresh()
        let changes: [(String, () async throws -> Void)] = [
            ("attributes", { client.attributes = ["region": "eu"] }),
            ("overrides", { try await client.force(.exclude(experiment: "button")) }),
            ("rules", { try await client.refresh(force: true) }),
            ("time", { time.advance(by: .seconds(601)) }),
        ]
        for (what, change) in changes {
            let basis = try #require(client.basisAtOnce(), "before \(what)")
            #expect(client.isCurrent(basis))
            time.advance(by: .seconds(1))
            #expect(client.isCurrent(basis))
            TransactionAttributes.$current.withValue(["a": 1]) { #expect(!client.isCurrent(basis)) }
            try await change()
            #expect(!client.isCurrent(basis), "\(what)")
        }
        try await client.refresh()
        let basis = try #require(client.basisAtOnce())
        provider.setDisabled(true)
        try await client.refresh(force: true)
        #expect(!client.isCurrent(basis))
        await client.shutdown()
    }

    @Test("there is no basis where rules may look at anything, or attributes come from outside")
    func noBasis() async throws {
        let freshness = Freshness(lifetime: .seconds(600))
        let targeting = try await ExperimentationClient(provider: Self.provider(freshness))
        try await targeting.refresh()
        #expect(targeting.basisAtOnce() == nil)
        let sharing = try await ExperimentationClient(
            provider: InMemoryProvider(flags: [InMemoryFlag("color", "green")], freshness: freshness),
            options: ClientOptions(sharedAttributes: SharedAttributes())
        )
        try await sharing.refresh()
        #expect(sharing.basisAtOnce() == nil)
        for client in [targeting, sharing] { await client.shutdown() }
    }
}
