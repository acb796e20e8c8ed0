import ExperimentationTesting
import Testing

@testable import Experimentation

@Suite("Exposures")
struct ExposureTests {
    static let checkout = InMemoryExperiment(
        Experiment(id: "checkout", name: "Checkout"),
        arms: [.init(Variation(id: "b", name: "One page"), weight: 100, flags: ["color": "blue", "size": 3])]
    )

    func session(
        _ policy: ExposurePolicy = .oncePerSession,
        consent: Consent = .granted,
        experiments: [InMemoryExperiment] = [checkout],
        hooks: [any Hook] = []
    ) async throws -> (ExperimentationClient, InMemoryProvider, UserSession) {
        let provider = InMemoryProvider(flags: [InMemoryFlag("plain", 1)], experiments: experiments)
        let client = try await ExperimentationClient(
            provider: provider,
            options: ClientOptions(hooks: hooks, exposurePolicy: policy)
        )
        let session = client.session(for: User(id: "ada", consent: consent))
        try await session.refresh()
        return (client, provider, session)
    }

    @Test("the first read that reveals a variation records one exposure, whatever is read after it")
    func once() async throws {
        let (client, provider, session) = try await session()
        for _ in 0..<3 {
            #expect(session.string("color", default: "red") == "blue")
            #expect(session.int("size", default: 0) == 3)
            _ = session.details("color", default: "red")
        }
        try await session.refresh(force: true)
        _ = session.string("color", default: "red")
        try await client.flush()
        #expect(
            provider.exposures == [
                Exposure(
                    assignment: Assignment(
                        experiment: Experiment(id: "checkout", name: "Checkout"),
                        variation: Variation(id: "b", name: "One page")
                    ),
                    flagKey: "color",
                    value: "blue",
                    defaultValue: "red"
                )
            ]
        )
    }

    /// A control that leaves one flag to the application and sets another.
    static let control = InMemoryExperiment(
        Experiment(id: "checkout"),
        arms: [.init(Variation(id: "a", isControl: true), weight: 100, flags: ["color": .null, "size": 3])]
    )

    @Test("a flag that the variation leaves to the caller's default exposes the variation, once")
    func blank() async throws {
        let (client, provider, session) = try await session(experiments: [Self.control])
        for _ in 0..<3 {
            #expect(session.string("color", default: "red") == "red")
            #expect(session.details("color", default: "red").reason == .default)
        }
        _ = session.int("size", default: 0)
        try await client.flush()
        let seen = Exposure(
            assignment: Assignment(
                experiment: Experiment(id: "checkout"),
                variation: Variation(id: "a", isControl: true)
            ),
            flagKey: "color",
            defaultValue: "red"
        )
        #expect(provider.exposures == [seen])

        let (often, oftenProvider, oftenSession) = try await self.session(.everyRead, experiments: [Self.control])
        for _ in 0..<3 { _ = oftenSession.string("color", default: "red") }
        try await often.flush()
        #expect(oftenProvider.exposures == [seen, seen, seen])

        let (none, noneProvider, noneSession) = try await self.session(.manual, experiments: [Self.control])
        for _ in 0..<3 { _ = noneSession.string("color", default: "red") }
        try await none.flush()
        #expect(noneProvider.exposures.isEmpty)
    }

    @Test("a default that no event can carry is left out of the exposure, with and without a session")
    func unwritableDefaults() async throws {
        let experiment = InMemoryExperiment(
            Experiment(id: "checkout"),
            arms: [.init(Variation(id: "b"), weight: 100, flags: ["ratio": 0.5, "theme": ["dark": true]])]
        )
        let (client, provider, session) = try await session(.everyRead, experiments: [experiment])
        let ada = User(id: "ada", consent: .granted)
        let decisions = try await client.decisions(for: ada)
        var deep: FlagValue = 1
        for _ in 0..<200 { deep = [deep] }
        for number in [Double.infinity, .nan] {
            #expect(session.double("ratio", default: number) == 0.5)
            #expect(client.double("ratio", default: number, for: ada) == 0.5)
            #expect(decisions.double("ratio", default: number) == 0.5)
        }
        #expect(session.object("theme", default: deep) == ["dark": true])
        #expect(client.object("theme", default: deep, for: ada) == ["dark": true])
        #expect(decisions.object("theme", default: deep) == ["dark": true])
        try await client.flush()
        let assignment = Assignment(experiment: Experiment(id: "checkout"), variation: Variation(id: "b"))
        let ratio = Exposure(assignment: assignment, flagKey: "ratio", value: 0.5)
        let theme = Exposure(assignment: assignment, flagKey: "theme", value: ["dark": true])
        #expect(provider.exposures == Array(repeating: ratio, count: 6) + Array(repeating: theme, count: 3))
    }

    @Test("an exposure holds the value that was read, however deeply the vendor has nested it")
    func deepValue() async throws {
        var deep: FlagValue = 1
        for _ in 0..<20 { deep = [deep] }
        let experiment = InMemoryExperiment(
            Experiment(id: "checkout"),
            arms: [.init(Variation(id: "b"), weight: 100, flags: ["theme": deep])]
        )
        let (client, provider, session) = try await session(experiments: [experiment])
        #expect(session.object("theme", default: [:]) == deep)
        try await client.flush()
        let assignment = Assignment(experiment: Experiment(id: "checkout"), variation: Variation(id: "b"))
        #expect(
            provider.exposures == [
                Exposure(assignment: assignment, flagKey: "theme", value: deep, defaultValue: [:])
            ]
        )
    }

    @Test(
        "a read as an application's type exposes nothing if the value doesn't fit, but does if the variation has none"
    )
    func applicationTypes() async throws {
        struct Theme: Codable, Sendable { var size = 1 }
        let experiment = InMemoryExperiment(
            Experiment(id: "checkout"),
            arms: [.init(Variation(id: "b"), weight: 100, flags: ["odd": ["size": "big"], "gap": .null])]
        )
        let (client, provider, session) = try await session(experiments: [experiment])
        let decisions = try await client.decisions(for: User(id: "ada", consent: .granted))
        for key in ["odd", "gap"] {
            #expect(session.value(key, default: Theme()).size == 1)
            #expect(decisions.value(key, default: Theme()).size == 1)
        }
        try await client.flush()
        let assignment = Assignment(experiment: Experiment(id: "checkout"), variation: Variation(id: "b"))
        #expect(provider.exposures.map(\.flagKey) == ["gap", "gap"])
        #expect(provider.exposures.compactMap(\.value).isEmpty)
        #expect(provider.exposures.map(\.assignment) == [assignment, assignment])
    }

    @Test("the variation that was read is exposed, even if other decisions arrive before the exposure is recorded")
    func changedMeanwhile() async throws {
        func assignment(_ id: String) -> Assignment {
            Assignment(experiment: Experiment(id: id), variation: Variation(id: "b"))
        }
        let flag = Resolution("blue", assignment: 0)
        let hook = ReplacingHook(Decisions(flags: [("color", flag)], assignments: [assignment("y"), assignment("x")]))
        let (client, provider, session) = try await session(hooks: [hook])
        session.replace(Decisions(flags: [("color", flag)], assignments: [assignment("x"), assignment("y")]))
        hook.session.value = session
        #expect(session.string("color", default: "red") == "blue")
        hook.session.value = nil
        try await client.flush()
        let seen = Exposure(assignment: assignment("x"), flagKey: "color", value: "blue", defaultValue: "red")
        #expect(provider.exposures == [seen])
    }

    @Test("a read without a session that records an exposure decides once")
    func decidesOnce() async throws {
        let rules = CountingRules()
        let client = try await ExperimentationClient(provider: rules)
        try await client.refresh()
        for _ in 0..<2 {
            #expect(client.string("color", default: "red", for: User(id: "ada", consent: .granted)) == "blue")
        }
        #expect(rules.decided.value == 2)
        await client.shutdown()
    }

    @Test("without a session, a user without an id reads the default, and exposes nothing")
    func nobody() async throws {
        let (client, provider, _) = try await session()
        for nobody in [User(id: "", consent: .granted), User(id: "", anonymousID: "", consent: .granted)] {
            #expect(client.string("color", default: "red", for: nobody) == "red")
            #expect(client.int("plain", default: 0, for: nobody) == 0)
        }
        try await client.flush()
        #expect(provider.exposures.isEmpty)
    }

    @Test("a mismatch, an unknown flag and a flag without an experiment record nothing")
    func none() async throws {
        let (client, provider, session) = try await session()
        _ = session.bool("color", default: true)
        _ = session.details("color", default: 1)
        _ = session.string("missing", default: "")
        _ = session.int("plain", default: 0)
        try await client.flush()
        #expect(provider.exposures.isEmpty)
        #expect(try await client.ledger() == Ledger())
    }

    @Test("another session, another user and another variation are separate exposures")
    func others() async throws {
        let (client, provider, session) = try await session()
        _ = session.string("color", default: "")
        let second = client.session(for: User(id: "ada", consent: .granted))
        try await second.refresh()
        _ = second.string("color", default: "")
        session.identify(Identity(id: "bob"))
        try await session.refresh()
        _ = session.string("color", default: "")
        try await client.flush()
        #expect(provider.record.delivered.map(\.identity.id) == ["ada", "ada", "bob"])
        #expect(provider.exposures.count == 3)
    }

    @Test("every read records under `everyRead`, and only explicit exposures do under `manual`")
    func policies() async throws {
        let (client, provider, session) = try await session(.everyRead)
        for _ in 0..<3 { _ = session.string("color", default: "") }
        try await client.flush()
        #expect(provider.exposures.count == 3)

        let (other, otherProvider, otherSession) = try await self.session(.manual)
        for _ in 0..<3 { _ = otherSession.string("color", default: "") }
        try otherSession.expose("checkout")
        try otherSession.expose("Checkout")
        #expect(throws: ExperimentationError.self) { try otherSession.expose("unknown") }
        try await other.flush()
        #expect(otherProvider.exposures.map(\.flagKey) == [nil])
    }

    @Test("without consent nothing is recorded; exposures under unknown consent are sent once it is granted")
    func consent() async throws {
        let (client, provider, session) = try await session(consent: .denied)
        _ = session.string("color", default: "")
        try await client.flush()
        #expect(provider.exposures.isEmpty)
        try await session.setConsent(.granted)
        _ = session.string("color", default: "")
        try await client.flush()
        #expect(provider.exposures.count == 1)

        let (unasked, unaskedProvider, unaskedSession) = try await self.session(consent: .unknown)
        _ = unaskedSession.string("color", default: "")
        try await unasked.flush()
        #expect(unaskedProvider.exposures.isEmpty)
        #expect(try await unasked.outboxStatus().held == 1)
        try await unaskedSession.setConsent(.granted)
        try await unasked.flush()
        #expect(unaskedProvider.exposures.count == 1)
    }
}

/// Publishes rules with one flag under an experiment, and counts how often they decide it.
private final class CountingRules: ExperimentationProvider, RulesetSource, Ruleset {
    let name = "counting rules"
    let scope = ""
    let capabilities: Set<Capability> = [.flags, .experiments]
    let freshness = Freshness()
    let decided = Shared(0)
    private let rules = Decisions(
        flags: [("color", Resolution("blue", assignment: 0))],
        assignments: [Assignment(experiment: Experiment(id: "checkout"), variation: Variation(id: "b"))]
    )

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .computed(self))
    }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        .replaced(self, validator: nil, raw: [])
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset { self }

    var catalogue: FlagCatalogue { rules.catalogue }

    func decisions(for context: EvaluationContext) -> Decisions { rules }

    func outcome(ofFlag flag: Int, for context: EvaluationContext) -> Int? {
        decided.change { $0 += 1 }
        return rules.outcome(ofFlag: flag)
    }
}

/// Replaces a session's decisions between a read and its end.
private struct ReplacingHook: Hook {
    let session = Shared<UserSession?>(nil)
    let later: Decisions

    init(_ later: Decisions) { self.later = later }

    func after(
        _ context: HookContext,
        details: EvaluationDetails<FlagValue>,
        data: inout HookData
    ) throws(ExperimentationError) {
        session.value?.replace(later)
    }
}

extension UserSession {
    /// Replaces the session's decisions, as a refresh does.
    fileprivate func replace(_ decisions: Decisions) {
        update { former in
            Snapshot(
                decisions: decisions,
                context: former.context,
                origin: .fresh,
                date: former.date,
                instant: former.instant,
                revision: former.revision
            )
        }
    }
}
