import ExperimentationTesting
import Synchronization
import Testing

@testable import Experimentation

/// A vendor that is asked for each user, and fails while a test wants it to.
private struct Shop: ExperimentationProvider, DecisionSource {
    let name = "shop"
    let scope = ""
    let capabilities: Set<Capability> = [.flags]
    var freshness = Freshness()
    let fails = Failing()

    final class Failing: Sendable {
        private let state = Mutex(false)
        var isOn: Bool {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .asked(self))
    }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        if fails.isOn { throw ExperimentationError(.transport, "gone") }
        let flags = (0..<9).map { ("flag-\($0)", Resolution(.string("\(context.user.id)-\($0)"), reason: .split)) }
        return .decided(Decisions(flags: flags))
    }
}

@Suite("Users without a session")
struct UserDecisionsTests {
    @Test("decisions for a thousand users can be read for each of them, also later")
    func thousand() async throws {
        let client = try await ExperimentationClient(provider: Shop())
        let users = (0..<1_000).map { User(id: "u\($0)") }
        var decided: [UserDecisions] = []
        for user in users { decided.append(try await client.decisions(for: user)) }
        for (user, decisions) in zip(users, decided) {
            #expect(client.string("flag-3", default: "none", for: user) == "\(user.id)-3")
            #expect(decisions.string("flag-3", default: "none") == "\(user.id)-3")
        }
    }

    @Test("decisions remain readable, whatever the client has evicted")
    func forgotten() async throws {
        let client = try await ExperimentationClient(provider: Shop(), options: ClientOptions(decisionCacheBytes: 0))
        let ada = try await client.decisions(for: User(id: "ada"))
        _ = try await client.decisions(for: User(id: "bob"))
        let user = User(id: "ada")
        #expect(client.details("flag-0", default: "none", for: user).errorCode == .providerNotReady)
        #expect(ada.string("flag-0", default: "none") == "ada-0")
        #expect(ada.keys.count == 9)
        #expect(ada["flag-8"]?.value == "ada-8")
    }

    @Test("when a vendor that is asked is unreachable, its last answer is available and marked as old")
    func atHand() async throws {
        let shop = Shop()
        let client = try await ExperimentationClient(provider: shop)
        let ada = User(id: "ada")
        #expect(client.decisionsAtHand(for: ada)?.keys == nil)
        #expect(try await client.decisions(for: ada).isStale == false)
        shop.fails.isOn = true
        await #expect(throws: ExperimentationError.self) { try await client.decisions(for: ada) }
        let old = try #require(client.decisionsAtHand(for: ada))
        #expect(old.isStale)
        #expect(old.details("flag-0", default: "none").reason == .stale)
        #expect(old.string("flag-0", default: "none") == "ada-0")
        #expect(client.decisionsAtHand(for: User(id: "bob"))?.keys == nil)
        #expect(client.decisionsAtHand(for: User(id: ""))?.keys == nil)
    }

    @Test("when a vendor that publishes rules is unreachable, the current rules decide until its kill switch is on")
    func rulesAtHand() async throws {
        let provider = InMemoryProvider(flags: [InMemoryFlag("color", "green")])
        let client = try await ExperimentationClient(provider: provider)
        #expect(client.decisionsAtHand(for: User(id: "ada"))?.keys == nil)
        try await client.refresh()
        provider.setFailure(ExperimentationError(.transport, "gone"))
        let old = try #require(client.decisionsAtHand(for: User(id: "bob")))
        #expect(old.isStale)
        #expect(old.details("color", default: "red").value == "green")
        #expect(old.details("color", default: "red").reason == .stale)
        provider.setFailure(nil)
        provider.setDisabled(true)
        try? await client.refresh(force: true)
        #expect(client.decisionsAtHand(for: User(id: "bob"))?.keys == nil)
    }

    @Test("rules from before the kill switch was turned on don't lift it, for any user")
    func switchStays() async throws {
        let time = ManualTime()
        let provider = InMemoryProvider(
            flags: [InMemoryFlag("color", "green")],
            freshness: Freshness(lifetime: .seconds(600))
        )
        let client = try await ExperimentationClient(
            provider: provider,
            environment: ClientEnvironment(time: time)
        )
        try await client.refresh()
        provider.setDisabled(true)
        try await client.refresh(force: true)
        #expect(client.status == .disabled)
        _ = try await client.decisions(for: User(id: "ada"))
        #expect(client.status == .disabled)
        provider.setDisabled(false)
        try await client.refresh(force: true)
        #expect(client.status == .ready)
        await client.shutdown()
    }

    @Test("an event keeps the id given by its caller")
    func callersID() async throws {
        let client = try await ExperimentationClient(provider: InMemoryProvider())
        let user = User(id: "ada", consent: .granted)
        #expect(try await client.track(.custom("seen"), for: user, id: "order-7") == "order-7")
        #expect(try await client.waitingEvents().map(\.envelope.id) == ["order-7"])
    }

    @Test("old decisions report their age, as a session does")
    func stale() async throws {
        let time = ManualTime()
        let shop = Shop(freshness: Freshness(lifetime: .seconds(10)))
        let client = try await ExperimentationClient(provider: shop, environment: ClientEnvironment(time: time))
        let (user, session) = (User(id: "ada"), client.session(for: User(id: "ada")))
        let ada = try await client.decisions(for: user)
        try await session.refresh()
        func expect(_ reason: Reason, _ age: Duration?) {
            let readings = [
                ada.details("flag-0", default: "none"), client.details("flag-0", default: "none", for: user),
                session.details("flag-0", default: "none"),
            ]
            for details in readings {
                #expect(details.value == "ada-0")
                #expect(details.reason == reason)
                #expect(details.age == age)
            }
        }
        expect(.split, nil)
        time.advance(by: .seconds(11))
        expect(.stale, .seconds(11))
    }

    @Test(
        "published rules expire without a session as with one: they are stale, or read as the default",
        arguments: [
            (
                Freshness.AfterExpiry.stale, "green", Reason.stale, Duration?.some(.milliseconds(10_001)),
                ErrorCode?.none
            ),
            (.notReady, "none", .error, nil, .providerNotReady),
        ]
    )
    func overdueRules(
        policy: Freshness.AfterExpiry,
        value: String,
        reason: Reason,
        age: Duration?,
        code: ErrorCode?
    ) async throws {
        let time = ManualTime()
        let provider = InMemoryProvider(
            flags: [InMemoryFlag("color", "green")],
            freshness: Freshness(lifetime: .seconds(10), afterExpiry: policy)
        )
        let client = try await ExperimentationClient(
            provider: provider,
            options: ClientOptions(bootstrap: Bootstrap(flags: ["color": "grey"])),
            environment: ClientEnvironment(time: time)
        )
        let (user, session) = (User(id: "ada"), client.session(for: User(id: "ada")))
        try await session.refresh()
        time.advance(by: .seconds(10))
        #expect(client.details("color", default: "none", for: user).reason == .static)
        #expect(client.string("color", default: "none", for: user) == "green")
        time.advance(by: .milliseconds(1))
        for details in [
            client.details("color", default: "none", for: user), session.details("color", default: "none"),
        ] {
            #expect(details.value == value)
            #expect(details.reason == reason)
            #expect(details.age == age)
            #expect(details.errorCode == code)
        }
        #expect(client.string("color", default: "none", for: user) == value)
    }

    @Test("after an invalid answer the last good one stays, as stale, for vendors that are asked and for rules")
    func bad() async throws {
        let time = ManualTime()
        let shop = Shop()
        let asked = try await ExperimentationClient(provider: shop, environment: ClientEnvironment(time: time))
        let rules = InMemoryProvider(flags: [InMemoryFlag("flag-0", "ada-0")])
        let computed = try await ExperimentationClient(provider: rules, environment: ClientEnvironment(time: time))
        for client in [asked, computed] { _ = try await client.decisions(for: User(id: "ada")) }
        shop.fails.isOn = true
        rules.setFailure(ExperimentationError(.transport, "gone"))
        time.advance(by: .seconds(5))
        for client in [asked, computed] {
            await #expect(throws: ExperimentationError(.transport, "gone")) {
                _ = try await client.decisions(for: User(id: "ada"))
            }
            let details = client.details("flag-0", default: "none", for: User(id: "ada"))
            #expect(details.value == "ada-0")
            #expect(details.reason == .stale)
            #expect(details.age == .seconds(5))
        }
    }

    @Test("a read from a vendor without decisions has the code UNSUPPORTED")
    func unsupported() async throws {
        let client = try await ExperimentationClient(provider: ScriptedVendor())
        let session = client.session(for: User(id: "ada"))
        for details in [
            session.details("flag", default: "none"), client.details("flag", default: "none", for: User(id: "ada")),
        ] {
            #expect(details.value == "none")
            #expect(details.reason == .error)
            #expect(details.errorCode == .unsupported)
        }
    }

    @Test("with a vendor without exposures, an explicit one throws, and reads log it once")
    func exposures() async throws {
        let log = RecordingLog(level: .info)
        let provider = NoExposures()
        let client = try await ExperimentationClient(provider: provider, environment: ClientEnvironment(log: log))
        for id in ["ada", "bob"] {
            let session = client.session(for: User(id: id, consent: .granted))
            try await session.refresh()
            #expect(session.string("flag", default: "none") == "green")
            #expect { try session.expose("checkout") } throws: { ($0 as? ExperimentationError)?.code == .unsupported }
        }
        #expect(log.entries.map(\.event) == ["exposure.unsupported"])
        #expect(log.entries.map(\.level) == [.warning])
    }
}

/// A vendor with an experiment but no exposures.
private struct NoExposures: ExperimentationProvider, DecisionSource, EventSink {
    let name = "plain"
    let scope = ""
    let capabilities: Set<Capability> = [.flags, .experiments, .tracking]
    let freshness = Freshness()
    let batching = BatchPolicy(count: 1, interval: .zero)

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .asked(self), events: self)
    }
    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        if case .exposure = event.kind { throw ExperimentationError(.unsupported, "plain has no exposures.") }
    }
    func deliver(_ batch: [Envelope]) async -> DeliveryReport { DeliveryReport(.delivered) }
    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        var resolution = Resolution("green", reason: .split)
        resolution.assignment = 0
        let assignment = Assignment(experiment: Experiment(id: "checkout"), variation: Variation(id: "green"))
        return .decided(Decisions(flags: [("flag", resolution)], assignments: [assignment]))
    }
}
