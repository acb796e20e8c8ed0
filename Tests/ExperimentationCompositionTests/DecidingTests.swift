import Experimentation
import ExperimentationComposition
import ExperimentationTesting
import Testing

/// How the vendors decide: both by rules, or one of them asked for each user.
enum Way: String, CaseIterable, Sendable { case computed, mixed }

@Suite("Decisions of several vendors")
struct DecidingTests {
    private let a = Vendors.deciding("a", ["both": "a", "only-a": "1", "x_flag": "a"])
    private let b = Vendors.deciding("b", ["both": "b", "only-b": "2", "x_flag": "b"])

    private func provider(_ way: Way, _ table: DecisionTable) throws -> ComposedProvider {
        try ComposedProvider(of: [way == .mixed ? a.asked : a, b], decisions: table)
    }

    private func session(_ way: Way, _ table: DecisionTable) async throws -> UserSession {
        let client = try await ExperimentationClient(provider: provider(way, table))
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        return session
    }

    @Test(
        "the first vendor in order answers, the next one if it doesn't have the flag, and metadata names it",
        arguments: Way.allCases
    )
    func line(way: Way) async throws {
        let session = try await session(way, .from("b", "a"))
        let read = ["both", "only-a", "only-b"].map { key in
            let details = session.details(key, default: "")
            return [details.value, details.metadata["provider"]?.stringValue]
        }
        #expect(read == [["b", "b"], ["1", "a"], ["2", "b"]])
        #expect(session.details("nobody", default: true).errorCode == .flagNotFound)
    }

    @Test(
        "a key takes precedence over a prefix, a longer prefix over a shorter one, and both over the default",
        arguments: Way.allCases
    )
    func rows(way: Way) async throws {
        let table = DecisionTable(
            [.flags(["both"], from: "b"), .prefix("x", from: "a"), .prefix("x_", from: "b")],
            others: ["a"]
        )
        let session = try await session(way, table)
        #expect(["both", "x_flag", "only-a"].map { session.string($0, default: "") } == ["b", "b", "1"])
        #expect(session.details("only-b", default: "").errorCode == .flagNotFound)
    }

    @Test(
        "a vendor without an answer is an error with firstMatch, and skipped with firstSuccessful",
        arguments: Way.allCases
    )
    func fallback(way: Way) async throws {
        a.inner.setFailure(ExperimentationError(.transport, "away"))
        let strict = try await session(way, .from("a", "b"))
        #expect(strict.details("both", default: "none").errorCode == .providerNotReady)
        let tolerant = try await session(way, .from("a", "b", fallback: .firstSuccessful))
        #expect(tolerant.string("both", default: "none") == "b")
    }

    @Test(
        "a flag listed in a table reports that its vendor isn't ready, not that it is missing",
        arguments: Way.allCases
    )
    func namedFlags(way: Way) async throws {
        a.inner.setFailure(ExperimentationError(.transport, "away"))
        let table = DecisionTable([.flags(["only-a"], from: "a")], others: ["b"])
        let session = try await session(way, table)
        #expect(session.details("only-a", default: "").errorCode == .providerNotReady)
        #expect(session.string("only-b", default: "") == "2")
    }

    @Test(
        "a vendor that fails later keeps its last good values, marked as stale; the others continue",
        arguments: Way.allCases
    )
    func staleness(way: Way) async throws {
        let session = try await session(way, .from("a", "b"))
        a.inner.setFailure(ExperimentationError(.transport, "away"))
        b.inner.replace(flags: [InMemoryFlag("only-b", "3")])
        try await session.refresh(force: true)
        let read = ["both", "only-b"].map { key in
            let details = session.details(key, default: "")
            return [details.value, details.reason.rawValue]
        }
        #expect(read == [["a", "STALE"], ["3", "STATIC"]])
        b.inner.setFailure(ExperimentationError(.transport, "away"))
        await #expect(throws: ExperimentationError.self) { try await session.refresh(force: true) }
        #expect(session.details("only-b", default: "").reason == .stale)
        a.inner.setFailure(nil)
        b.inner.setFailure(nil)
        try await session.refresh(force: true)
        #expect(session.details("both", default: "").reason == .static)
    }

    @Test(
        "a vendor's kill switch disables only its own flags; those of all vendors disable the composition",
        arguments: Way.allCases
    )
    func killSwitches(way: Way) async throws {
        let client = try await ExperimentationClient(provider: provider(way, .from("a", "b")))
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        a.inner.setDisabled(true)
        try await session.refresh(force: true)
        #expect(session.details("both", default: "none").reason == .disabled)
        let tolerant = try await self.session(way, .from("a", "b", fallback: .firstSuccessful))
        #expect(tolerant.string("both", default: "none") == "b")
        #expect(client.status == .ready)
        b.inner.setDisabled(true)
        try await session.refresh(force: true)
        #expect(client.status == .disabled)
        a.inner.setDisabled(false)
        try await session.refresh(force: true)
        #expect(client.status == .ready && session.string("both", default: "") == "a")
    }

    @Test("a disabled vendor that fails stays disabled, even in the next run", arguments: Way.allCases)
    func failingWhileDisabled(way: Way) async throws {
        let store = ClientStore.inMemory()
        let provider = try provider(way, .from("a", "b"))
        let first = try await ExperimentationClient(provider: provider, store: store)
        let session = first.session(for: User(id: "ada"))
        try await session.refresh()
        b.inner.setDisabled(true)
        try await session.refresh(force: true)
        b.inner.setFailure(ExperimentationError(.transport, "away"))
        try await session.refresh(force: true)
        #expect(session.details("only-b", default: "none").reason == .disabled)
        await first.shutdown()
        let second = try await ExperimentationClient(provider: provider, store: store)
        let later = second.session(for: User(id: "ada"))
        try await later.refresh(force: true)
        #expect(later.details("only-b", default: "none").reason == .disabled)
        #expect(later.string("only-a", default: "none") == "1")
        b.inner.setDisabled(false)
        b.inner.setFailure(nil)
        try await later.refresh(force: true)
        #expect(later.string("only-b", default: "none") == "2")
    }

    /// A store that can't be read.
    private struct Unreadable: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            throw ExperimentationError(.store, "The database is locked.")
        }
    }

    @Test("a store that stays unreadable delays the start of all vendors together by 200 milliseconds")
    func unreadable() async throws {
        let time = ManualTime()
        let start = time.instant
        let provider = try provider(.computed, .from("a", "b"))
        let client = try await time.passing {
            try await ExperimentationClient(
                provider: provider,
                store: ClientStore(outbox: InMemoryOutboxStore(), state: Unreadable()),
                environment: ClientEnvironment(time: time)
            )
        }
        #expect(start.duration(to: time.instant) <= .milliseconds(200))
        await client.shutdown(within: .zero)
    }

    @Test("experiments come from each vendor that has them, marked with its name", arguments: Way.allCases)
    func experiments(way: Way) async throws {
        a.inner.replace(flags: [], experiments: [Vendors.experiment("one", flag: "f", value: "a")])
        b.inner.replace(flags: [], experiments: [Vendors.experiment("two", flag: "f", value: "b")])
        let session = try await session(way, .from("b", "a"))
        #expect(session.string("f", default: "") == "b")
        let places = session.assignments.map { [$0.experiment.id, $0.metadata["provider"]?.stringValue] }
        #expect(places == [["one", "a"], ["two", "b"]])
    }

    @Test("an override reaches only vendors that accept overrides")
    func overrides() async throws {
        a.inner.replace(flags: [], experiments: [Vendors.experiment("one")])
        b.inner.replace(flags: [], experiments: [Vendors.experiment("one")])
        let strict = b.changing { $0.assignments.allowsOverrides = false }
        let client = try await ExperimentationClient(provider: ComposedProvider(of: [a, strict]))
        try await client.force(.exclude(experiment: "one"))
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        #expect(session.assignments.map { $0.metadata["provider"]?.stringValue } == ["b"])
    }

    @Test("rules of an earlier run are available offline, each vendor's with its validator")
    func restoring() async throws {
        let store = ClientStore.inMemory()
        let provider = try provider(.computed, .from("a", "b"))
        let first = try await ExperimentationClient(provider: provider, store: store)
        try await first.refresh()
        await first.shutdown()
        for vendor in [a, b] { vendor.inner.setFailure(ExperimentationError(.transport, "away")) }
        let second = try await ExperimentationClient(provider: provider, store: store)
        let details = second.details("only-b", default: "", for: User(id: "ada"))
        #expect(details.value == "2" && details.reason == .cached)
    }

    @Test("a client of the vendor alone and a composition that adds destinations share stored state")
    func sameAccount() async throws {
        let store = ClientStore.inMemory()
        let alone = try await ExperimentationClient(provider: a, store: store)
        try await alone.refresh()
        await alone.shutdown()
        a.inner.setFailure(ExperimentationError(.transport, "away"))
        let composed = try ComposedProvider(of: [a, Vendors.taking("t")])
        let client = try await ExperimentationClient(provider: composed, store: store)
        #expect(client.string("only-a", default: "", for: User(id: "ada")) == "1")
    }

    @Test("reading one flag without a session asks the same vendors as a whole session")
    func withoutSession() async throws {
        let client = try await ExperimentationClient(provider: provider(.computed, .from("b", "a")))
        try await client.refresh()
        let user = User(id: "ada")
        #expect(
            client.string("both", default: "", for: user) == "b"
                && client.string("only-a", default: "", for: user) == "1"
        )
        b.inner.setDisabled(true)
        try await client.refresh(force: true)
        #expect(client.details("both", default: "", for: user).reason == .disabled)
    }
}
