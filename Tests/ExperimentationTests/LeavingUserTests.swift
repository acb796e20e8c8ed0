import ExperimentationTesting
import Foundation
import Testing

@testable import Experimentation

@Suite("Work for a user ends as that user's, even if the session has become another's", .timeLimit(.minutes(1)))
struct LeavingUserTests {
    /// Links in some steps, once a test lets it.
    private final class SlowLinker: IdentityLinker {
        let reached = AsyncGate()
        let mayLink = AsyncGate()
        let taken = Shared(0)
        private let steps: Int

        init(steps: Int = 1) { self.steps = steps }

        func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress {
            reached.open()
            await mayLink.wait()
            taken.change { $0 += 1 }
            var next = progress
            next.isComplete = taken.value.isMultiple(of: steps)
            return next
        }
    }

    @Test(
        "a user who has left is linked, and doesn't become the session's user again",
        arguments: ["guest", "cafe\u{301}"]
    )
    func linking(next: String) async throws {
        let (linker, store) = (SlowLinker(), ClientStore.inMemory())
        let client = try await ExperimentationClient(provider: LinkingTests.Provider(linker: linker), store: store)
        let session = client.session(for: User(id: "caf\u{e9}", consent: .granted))
        let linking = Task { try await session.link(to: LinkingTests.ada) }
        await linker.reached.wait()
        session.identify(Identity(id: next))
        linker.mayLink.open()
        #expect(try await linking.value == LinkingTests.ada)
        #expect(ExactText(session.user.id) == ExactText(next))
        #expect(try await store.state.keys(beginningWith: "").isEmpty)
    }

    @Test("of two linkings of one session the later one decides its user")
    func laterLinking() async throws {
        let linker = SlowLinker()
        let client = try await ExperimentationClient(provider: LinkingTests.Provider(linker: linker))
        let session = client.session(for: User(id: "device", consent: .granted))
        let first = Task { try await session.link(to: LinkingTests.ada) }
        await linker.reached.wait()
        let ben = Identity(id: "ben", isAuthenticated: true)
        let second = Task { try await session.link(to: ben) }
        for _ in 0..<100 { await Task.yield() }
        linker.mayLink.open()
        #expect(try await first.value == LinkingTests.ada)
        #expect(try await second.value == ben)
        #expect(session.user.identity == ben)
    }

    @Test("a user who denies consent and leaves isn't linked any further; the next user's denial changes nothing")
    func denialOfLinked() async throws {
        for isOwn in [true, false] {
            let (linker, store) = (SlowLinker(steps: 2), ClientStore.inMemory())
            let client = try await ExperimentationClient(provider: LinkingTests.Provider(linker: linker), store: store)
            let session = client.session(for: User(id: "device", consent: .granted))
            let linking = Task { try await session.link(to: LinkingTests.ada) }
            await linker.reached.wait()
            if isOwn { try await session.setConsent(.denied) }
            session.identify(Identity(id: "guest"))
            try await session.setConsent(isOwn ? .granted : .denied)
            linker.mayLink.open()
            let outcome = await linking.result
            #expect((try? outcome.get()) == (isOwn ? nil : LinkingTests.ada))
            #expect(linker.taken.value == (isOwn ? 1 : 2))
            #expect(try await store.state.keys(beginningWith: "").allSatisfy { !$0.contains("link/") })
            #expect(session.user.id == "guest")
        }
    }

    /// A store that is slow to carry out changes of consent.
    private struct SlowConsent: OutboxStoreDecorator {
        let base: any OutboxStore = InMemoryOutboxStore()
        let reached = AsyncGate()
        let mayChange = AsyncGate()

        func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
            reached.open()
            await mayChange.wait()
            return try await base.setConsent(changes)
        }
    }

    /// The users that a session gets, one after another, while its former user's choice is being stored.
    private static let ways = [["bob"], ["cafe\u{301}"], ["bob", "eve"], ["bob", "caf\u{e9}"], []].map { ids in
        ids.map { Identity(id: $0, anonymousID: "device") }
    }
    /// The same user, by another name.
    private static let named = [Identity(id: "caf\u{e9}", isAuthenticated: true)]

    @Test(
        "the vendor is notified once of a consent choice, with the right user",
        arguments: [true, false],
        ways + [named]
    )
    func consent(isGranted: Bool, way: [Identity]) async throws {
        let slow = SlowConsent()
        let vendor = ScriptedVendor(needsConsent: true)
        let client = try await vendor.client(store: ClientStore(outbox: slow, state: InMemoryStateStore()))
        let session = client.session(for: User(id: "caf\u{e9}", anonymousID: "device"))
        let choosing = Task { try await session.setConsent(isGranted ? .granted : .denied) }
        await slow.reached.wait()
        for identity in way { session.identify(identity) }
        slow.mayChange.open()
        try await choosing.value
        #expect(try await client.flush().isDone)
        let signals = vendor.record.received.filter(\.event.isConsentSignal)
        #expect(signals.map(\.event) == [TrackingEvent(.consentChanged(granted: isGranted))])
        #expect(signals.map { ExactText($0.identity.id) } == [ExactText("caf\u{e9}")])
    }

    /// A store that is slow to accept the first event, and then fails at it.
    private struct FailingAppend: OutboxStoreDecorator {
        let base: any OutboxStore = InMemoryOutboxStore()
        let reached = AsyncGate()
        let mayFail = AsyncGate()

        func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
            guard !reached.isOpen else { return try await base.append(events, now: now) }
            reached.open()
            await mayFail.wait()
            throw ExperimentationError(.store, "The disk failed.")
        }
    }

    @Test(
        "the vendor is notified of a choice that couldn't be stored once its user, who left, returns and repeats it",
        arguments: [true, false]
    )
    func unstored(isGranted: Bool) async throws {
        let failing = FailingAppend()
        let vendor = ScriptedVendor(needsConsent: true)
        let client = try await vendor.client(store: ClientStore(outbox: failing, state: InMemoryStateStore()))
        let consent: Consent = isGranted ? .granted : .denied
        let session = client.session(for: User(id: "ada"))
        let choosing = Task { try await session.setConsent(consent) }
        await failing.reached.wait()
        session.identify(Identity(id: "bob"))
        failing.mayFail.open()
        await #expect(throws: ExperimentationError.self) { try await choosing.value }
        session.identify(Identity(id: "ada"))
        for _ in 0..<2 { try await session.setConsent(consent) }
        #expect(try await client.flush().isDone)
        let signals = vendor.record.received.filter(\.event.isConsentSignal)
        #expect(signals.map(\.event) == [TrackingEvent(.consentChanged(granted: isGranted))])
        #expect(signals.map(\.identity.id) == ["ada"])
    }
}
