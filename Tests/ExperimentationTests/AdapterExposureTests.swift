import ExperimentationTesting
import Synchronization
import Testing

@testable import Experimentation

@Suite("Exposures by an adapter that reads flags itself", .timeLimit(.minutes(10)))
struct AdapterExposureTests {
    /// A provider that is notified of each flag seen.
    private struct Watching: ExperimentationProvider {
        let base = InMemoryProvider()
        let sights = Sights()

        var name: String { base.name }
        var scope: String { base.scope }
        var capabilities: Set<Capability> { base.capabilities }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            var roles = try await base.start(in: context)
            roles.flagSeen = { sight in sights.all.withLock { $0.append(sight) } }
            return roles
        }
    }

    private final class Sights: Sendable {
        let all = Mutex<[FlagSight]>([])
        var flags: [String?] { all.withLock { $0.map(\.exposure.flagKey) } }
    }

    private static let ada = User(id: "ada", attributes: ["city": "lyon"], consent: .granted)

    private static func exposure(_ key: String) -> Exposure {
        Exposure(
            assignment: Assignment(experiment: Experiment(id: "checkout"), variation: Variation(id: "b")),
            flagKey: key
        )
    }

    private static func session(_ provider: Watching) async throws -> (ExperimentationClient, UserSession) {
        let options = ClientOptions(exposurePolicy: .manual)
        let client = try await ExperimentationClient(provider: provider, options: options)
        return (client, client.session(for: User(id: "ada", consent: .granted)))
    }

    @discardableResult
    private static func expose(_ key: String, in session: UserSession, often: Bool = false) throws -> Bool {
        try session.expose(exposure(key), to: ada, attributes: ["from": "here"], isRepeatable: often)
    }

    @Test(
        "each variation is recorded once unless it may be repeated, and each flag is reported once, for the given user"
    )
    func once() async throws {
        let provider = Watching()
        let (client, session) = try await Self.session(provider)
        let recorded = try ["size", "size", "on", "on"].map { try Self.expose($0, in: session) }
        #expect(recorded == [true, false, false, false])
        #expect(try Self.expose("on", in: session, often: true))
        try await client.flush()
        #expect(provider.base.exposures.map(\.flagKey) == ["size", "on"])
        #expect(provider.base.record.delivered.map(\.event.attributes) == [["from": "here"], ["from": "here"]])
        #expect(provider.sights.flags == ["size", "on", "on"])
        #expect(provider.sights.all.withLock { $0.map(\.isRecorded) } == [true, false, true])
        #expect(provider.sights.all.withLock { $0.allSatisfy { $0.user == Self.ada } })
    }

    @Test("flags whose keys are only equivalent in Unicode are told apart, and so are variations")
    func equivalentKeys() async throws {
        let provider = Watching()
        let (client, session) = try await Self.session(provider)
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        for key in [composed, decomposed] { try Self.expose(key, in: session) }
        let flags = provider.sights.flags.map { $0.map { Array($0.utf8) } }
        #expect(flags == [composed, decomposed].map { Array($0.utf8) })
        for variation in [composed, decomposed] {
            let assignment = Assignment(experiment: Experiment(id: "other"), variation: Variation(id: variation))
            let isNew = try session.expose(
                Exposure(assignment: assignment),
                to: Self.ada,
                attributes: [:],
                isRepeatable: false
            )
            #expect(isNew)
        }
        await client.shutdown()
    }

    @Test("an exposure that isn't accepted isn't remembered")
    func refused() async throws {
        let (_, session) = try await Self.session(Watching())
        let infinite: Attributes = ["from": .double(.infinity)]
        #expect(throws: ExperimentationError.self) {
            try session.expose(Self.exposure("size"), to: Self.ada, attributes: infinite, isRepeatable: false)
        }
        #expect(try Self.expose("size", in: session))
    }

    @Test("exposures of a user who is forgotten are recorded again, and no other user's")
    func forgotten() async throws {
        let (_, session) = try await Self.session(Watching())
        for id in ["ada", "ben"] {
            session.identify(Identity(id: id))
            #expect(try session.expose(Self.exposure("on"), to: User(id: id), attributes: [:], isRepeatable: false))
        }
        session.forgetExposures(of: "ada")
        let again = try ["ada", "ben"].map { id in
            try session.expose(Self.exposure("on"), to: User(id: id), attributes: [:], isRepeatable: false)
        }
        #expect(again == [true, false])
    }

    @Test("a variation seen at the moment of a denial isn't remembered, so it counts after the next consent")
    func seenAtThatMoment() async throws {
        let (client, session) = try await Self.session(Watching())
        let isOver = Atomic(false)
        async let reading: Void = Task {
            while !isOver.load(ordering: .relaxed) { _ = try? Self.expose("cta", in: session) }
        }.value
        for _ in 0..<500 {
            try await session.setConsent(.granted)
            try await session.setConsent(.denied)
            #expect(session.state.withLock { $0.recorded.isEmpty })
        }
        isOver.store(true, ordering: .relaxed)
        await reading
        await client.shutdown()
    }
}
