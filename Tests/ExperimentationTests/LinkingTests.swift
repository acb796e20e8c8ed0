import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@Suite("Linking")
struct LinkingTests {
    static let anon = User(id: "anon", consent: .granted)
    static let ada = Identity(id: "ada", anonymousID: "anon", isAuthenticated: true)

    /// Completes the first step, and fails at the second a number of times.
    final class Linker: IdentityLinker {
        let failures: Mutex<Int>
        let seen = Mutex<[String]>([])

        init(failures: Int) { self.failures = Mutex(failures) }

        func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress {
            seen.withLock { $0.append("\(progress.to.id) \(progress.criteria.values.sorted()) \(progress.notes)") }
            var next = progress
            if progress.notes.isEmpty {
                next.notes = [1]
                // The vendor determines the resulting ids.
                next.to.anonymousID = "of the vendor"
                return next
            }
            let fails = failures.withLock { count in
                defer { count -= 1 }
                return count > 0
            }
            if fails { throw ExperimentationError(.transport, "gone") }
            next.isComplete = true
            return next
        }
    }

    struct Provider: ExperimentationProvider {
        let linker: any IdentityLinker
        let name = "linking"
        let scope = ""
        let capabilities: Set<Capability> = [.identityLinking]
        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            ProviderRoles(identity: linker)
        }
    }

    private func session(_ linker: Linker, _ store: ClientStore) async throws -> UserSession {
        try await ExperimentationClient(provider: Provider(linker: linker), store: store).session(for: Self.anon)
    }

    @Test("an interrupted link is resumed by a later run with the same arguments, and ends with the vendor's ids")
    func isTakenUp() async throws {
        let store = ClientStore.inMemory()
        let linker = Linker(failures: 1)
        let session = try await session(linker, store)
        await #expect(throws: ExperimentationError.self) { try await session.link(to: Self.ada, criteria: ["a": "b"]) }
        #expect(session.user.id == "anon")
        let later = try await self.session(linker, store)
        var linked = Self.ada
        linked.anonymousID = "of the vendor"
        #expect(try await later.link(to: Self.ada, criteria: ["a": "b"]) == linked)
        #expect(later.user.identity == linked)
        #expect(linker.seen.withLock { $0 } == [#"ada ["b"] []"#, #"ada ["b"] [1]"#, #"ada ["b"] [1]"#])
    }

    /// A store that fails the first read of a link.
    private final class UnreadableLink: StateStoreDecorator {
        let baseState: any StateStore
        private let hasFailed = Mutex(false)

        init(_ state: any StateStore) { baseState = state }

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            let isFirst = hasFailed.withLock { hasFailed in
                defer { hasFailed = hasFailed || key.contains("/link/") }
                return !hasFailed && key.contains("/link/")
            }
            if isFirst { throw ExperimentationError(.store, "The database is locked.") }
            return try await baseState.value(for: key)
        }
    }

    @Test("an interrupted link isn't started over if the store fails while it is read: the next call resumes it")
    func isUnread() async throws {
        let store = ClientStore.inMemory()
        let linker = Linker(failures: 1)
        let first = try await session(linker, store)
        await #expect(throws: ExperimentationError.self) { try await first.link(to: Self.ada) }
        let state = UnreadableLink(store.state)
        let later = try await session(linker, ClientStore(outbox: store.outbox, state: state))
        let error = await #expect(throws: ExperimentationError.self) { try await later.link(to: Self.ada) }
        #expect(error?.code == .store)
        try await later.link(to: Self.ada)
        #expect(linker.seen.withLock { $0 } == ["ada [] []", "ada [] [1]", "ada [] [1]"])
    }

    @Test("a vendor never gets an empty id: the anonymous one replaces it")
    func withoutID() async throws {
        let linker = Linker(failures: 0)
        let session = try await session(linker, .inMemory())
        let linked = try await session.link(to: Identity(id: "", anonymousID: "device"))
        #expect(linker.seen.withLock { $0 } == ["device [] []", "device [] [1]"])
        #expect(linked.id == "device" && session.user.id == "device")
    }

    @Test("a user who denies consent isn't linked, and nothing of the attempt is stored")
    func denied() async throws {
        let store = ClientStore.inMemory()
        let linker = Linker(failures: 1)
        let session = try await session(linker, store)
        await #expect(throws: ExperimentationError.self) { try await session.link(to: Self.ada) }
        try await session.setConsent(.denied)
        let error = await #expect(throws: ExperimentationError.self) { try await session.link(to: Self.ada) }
        #expect(error?.code == .consentDenied)
        #expect(linker.seen.withLock { $0 } == ["ada [] []", "ada [] [1]"])
        #expect(session.user.id == "anon")
        #expect(try await store.state.keys(beginningWith: "").isEmpty)
    }

    /// A store that is slow to write the first state of a link.
    private struct SlowLink: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let reached = AsyncGate()
        let mayWrite = AsyncGate()

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            if key.contains("/link/"), !reached.isOpen {
                reached.open()
                await mayWrite.wait()
            }
            try await baseState.setValue(value, for: key)
        }
    }

    @Test(
        "nothing stays stored of a link whose user denies consent while its first state is being stored",
        .timeLimit(.minutes(1))
    )
    func deniedMeanwhile() async throws {
        let slow = SlowLink()
        let linker = Linker(failures: 0)
        let session = try await session(linker, ClientStore(outbox: InMemoryOutboxStore(), state: slow))
        let linking = Task { try await session.link(to: Self.ada, criteria: ["email": "ada@example.com"]) }
        await slow.reached.wait()
        try await session.setConsent(.denied)
        slow.mayWrite.open()
        let error = await #expect(throws: ExperimentationError.self) { try await linking.value }
        #expect(error?.code == .consentDenied)
        #expect(linker.seen.withLock { $0.isEmpty })
        #expect(try await slow.keys(beginningWith: "").isEmpty)
    }

    /// Takes two steps, of which the first waits.
    private final class SlowLinker: IdentityLinker {
        let seen = Mutex<[String]>([])
        let reached = AsyncGate()
        let mayLink = AsyncGate()
        let fails = Mutex(false)

        func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress {
            seen.withLock { $0.append("\(progress.to.id) \(progress.notes.count)") }
            reached.open()
            await mayLink.wait()
            let fails = fails.withLock { fails in
                defer { fails = false }
                return fails
            }
            if fails { throw ExperimentationError(.transport, "gone") }
            var next = progress
            (next.notes, next.isComplete) = ([1], !progress.notes.isEmpty)
            return next
        }
    }

    @Test(
        "two calls at once for one user are one linking, and other arguments begin after it",
        .timeLimit(.minutes(1)),
        arguments: [true, false],
        [("ada", false, 2), ("ada", true, 3), ("ben", false, 4)]
    )
    func together(areOfOneSession: Bool, second: (id: String, fails: Bool, steps: Int)) async throws {
        let (linker, store) = (SlowLinker(), ClientStore.inMemory())
        linker.fails.withLock { $0 = second.fails }
        let client = try await ExperimentationClient(provider: Provider(linker: linker), store: store)
        let session = client.session(for: Self.anon)
        let other = areOfOneSession ? session : client.session(for: Self.anon)
        let first = Task { try await session.link(to: Self.ada) }
        await linker.reached.wait()
        var to = Self.ada
        to.id = second.id
        let later = Task { [to] in try await other.link(to: to) }
        for _ in 0..<500 { await Task.yield() }
        linker.mayLink.open()
        let isLinked = (try? await first.value) == Self.ada
        #expect(isLinked != second.fails)
        #expect(try await later.value == to)
        let steps = linker.seen.withLock { $0 }
        #expect(steps.count == second.steps, "\(steps)")
        #expect(steps == steps.sorted(), "one after the other")
        #expect(try await store.state.keys(beginningWith: "").isEmpty)
    }

    @Test(
        "an interrupted link isn't continued for another user or other criteria",
        arguments: [("ben", ["a": "b"], #"ben ["b"]"#), ("ada", ["a": "c"], #"ada ["c"]"#)]
    )
    func isNotSomebodyElses(id: String, criteria: [String: String], seen: String) async throws {
        let store = ClientStore.inMemory()
        let linker = Linker(failures: 1)
        let session = try await session(linker, store)
        await #expect(throws: ExperimentationError.self) { try await session.link(to: Self.ada, criteria: ["a": "b"]) }
        var asked = Self.ada
        asked.id = id
        #expect(try await session.link(to: asked, criteria: criteria).id == id)
        #expect(linker.seen.withLock { $0.suffix(2) } == ["\(seen) []", "\(seen) [1]"])
    }
}
