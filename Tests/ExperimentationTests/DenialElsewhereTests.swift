import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import Experimentation

@Suite("A denial in another session")
struct DenialElsewhereTests {
    private let ada = User(id: "ada", consent: .granted)

    /// Makes Ada deny consent in a separate session.
    private func deny(_ client: ExperimentationClient) async throws {
        try await client.setConsent(.denied, for: ada)
    }

    @Test(
        "nothing is stored of a user who denies consent, whatever other sessions assume",
        arguments: [Consent.granted, .unknown],
        [true, false]
    )
    func keptLater(consent: Consent, isComputed: Bool) async throws {
        let provider: any ExperimentationProvider =
            isComputed
            ? InMemoryProvider(
                experiments: [InMemoryExperiment(Experiment(id: "e"), arms: [.init(Variation(id: "v"), weight: 100)])],
                needsConsent: false
            )
            : GatedProvider(source: PlanSource())
        let store = ClientStore.inMemory()
        let client = try await ExperimentationClient(provider: provider, store: store)
        let session = client.session(for: User(id: "ada", consent: consent))
        if consent == .granted { try await client.untilStored() }
        try await deny(client)
        try await session.refresh()
        let keys = try await store.state.keys(beginningWith: "")
        #expect(keys.allSatisfy { !$0.hasSuffix(Digest.hex("ada")) }, "\(keys)")
        try await client.setConsent(.granted, for: ada)
        try await session.refresh(force: true)
        #expect(try await store.state.keys(beginningWith: "").contains { $0.hasSuffix(Digest.hex("ada")) })
        await client.shutdown(within: .zero)
    }

    @Test("the vendor is asked for the user as denying consent, and later as consenting again")
    func asked() async throws {
        let source = ConsentSource()
        let client = try await ExperimentationClient(provider: GatedProvider(source: source))
        let session = client.session(for: ada)
        try await session.refresh()
        for consent in [Consent.denied, .granted] {
            try await client.setConsent(consent, for: ada)
            try await session.refresh()
        }
        #expect(source.consents.withLock { $0 } == [.granted, .denied, .granted])
        #expect(session.user.consent == .granted)
        await client.shutdown(within: .zero)
    }

    @Test(
        "a user who consents again doesn't share the answer to a question from while they denied consent, or from before",
        arguments: [Consent.denied, .granted]
    )
    func askedAnew(first: Consent) async throws {
        let source = ConsentSource()
        let client = try await ExperimentationClient(provider: GatedProvider(source: source))
        let session = client.session(for: ada)
        if first == .denied { try await deny(client) }
        source.gate.withLock { $0 = AsyncGate() }
        async let earlier: Void = session.refresh()
        try await eventually("the first question") { source.consents.withLock { $0 } == [first] }
        if first == .granted { try await deny(client) }
        try await client.setConsent(.granted, for: ada)
        async let later: Void = session.refresh()
        try await eventually("another question") { source.consents.withLock { $0 } == [first, .granted] }
        source.gate.withLock { $0 }?.open()
        _ = try await (earlier, later)
        await client.shutdown(within: .zero)
    }

    /// A vendor that notes the consent in each request.
    private final class ConsentSource: DecisionSource {
        let consents = Mutex<[Consent]>([])
        let gate = Mutex<AsyncGate?>(nil)
        let freshness = Freshness()

        func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
            consents.withLock { $0.append(context.user.consent) }
            await gate.withLock { $0 }?.wait()
            return .decided(.none)
        }
    }

    @Test("a session keeps the variation of a user who denies consent in memory", arguments: [true, false])
    func keptInMemory(isOwn: Bool) async throws {
        let provider = InMemoryProvider(experiments: AssignmentTests.arms(100, 0))
        let client = try await ExperimentationClient(provider: provider)
        let session = client.session(for: ada)
        if isOwn { try await session.setConsent(.denied) } else { try await deny(client) }
        try await session.refresh()
        provider.replace(flags: [], experiments: AssignmentTests.arms(0, 100))
        try await session.refresh(force: true)
        #expect(session.string("f", default: "") == "a")
        await client.shutdown(within: .zero)
    }

    @Test("the latest denials carried out are remembered until their users consent, up to a limit")
    func remembered() {
        var denials = StandingDenials(leastRemembered: 2)
        let open = StandingDenial()
        denials.deny(open, of: "open")
        for user in ["a", "b", "c", "d", "e"] {
            let denial = StandingDenial()
            denials.deny(denial, of: user)
            denials.end(denial, of: ExactText(user))
        }
        #expect(["open", "a", "b", "c", "d", "e", "f"].filter(denials.contain) == ["open", "c", "d", "e"])
        for user in ["open", "d", "e"] { denials.grant(user) }
        #expect(["open", "c", "d", "e"].filter(denials.contain) == ["c"])
        // Consent came before the consequences ended.
        denials.end(open, of: ExactText("open"))
        #expect(!denials.contain("open") && !open.isLastWord)
    }

    @Test("a user who denies consent isn't linked by a session that doesn't know of the denial")
    func linked() async throws {
        let linker = LinkingTests.Linker(failures: 0)
        let client = try await ExperimentationClient(provider: LinkingTests.Provider(linker: linker))
        let session = client.session(for: LinkingTests.anon)
        try await client.setConsent(.denied, for: LinkingTests.anon)
        let error = await #expect(throws: ExperimentationError.self) { try await session.link(to: LinkingTests.ada) }
        #expect(error?.code == .consentDenied)
        #expect(linker.seen.withLock { $0 }.isEmpty)
        _ = client.session(for: LinkingTests.anon)
        #expect(try await session.link(to: LinkingTests.ada).id == "ada")
        await client.shutdown(within: .zero)
    }

    @Test(
        "work that begins while a denial is being stated stores nothing of its user",
        .timeLimit(.minutes(1)),
        arguments: ["/link/", "/decisions/"]
    )
    func atOnce(kind: String) async throws {
        let state = FailingState(slow: kind)
        let provider: any ExperimentationProvider =
            kind == "/link/"
            ? LinkingTests.Provider(linker: LinkingTests.Linker(failures: 0)) : GatedProvider(source: PlanSource())
        let client = try await ExperimentationClient(
            provider: provider,
            store: ClientStore(outbox: InMemoryOutboxStore(), state: state)
        )
        let session = client.session(for: LinkingTests.anon)
        // Another session's task is between its two steps.
        client.core.denials.note("anon")
        let work = Task {
            if kind == "/decisions/" { return try await session.refresh() }
            _ = try await session.link(to: LinkingTests.ada)
        }
        await state.reached.wait()
        let ticket = client.core.outbox.enter(ConsentChange(userID: "anon", isGranted: false))
        try await client.core.outbox.deny(ticket, "anon")
        state.mayWrite.open()
        _ = await work.result
        #expect(try await state.keys(beginningWith: "").isEmpty)
        #expect(session.user.id == "anon")
        await client.shutdown(within: .zero)
    }

    @Test("consent that couldn't be stored isn't stated again after a denial")
    func staleGrant() async throws {
        let vendor = ScriptedVendor()
        let store = FailingStore(failing: 0..<1, of: [.setConsent])
        let client = try await vendor.client(store: ClientStore(outbox: store, state: store))
        let session = client.session(for: ada)
        await client.core.outbox.drain()
        try await deny(client)
        let error = await #expect(throws: ExperimentationError.self) { try await session.track(.numbered(1)) }
        #expect(error?.code == .consentDenied)
        try await client.flush(retrying: false)
        #expect(vendor.record.received.compactMap(\.event.number).isEmpty)
        await client.shutdown(within: .zero)
    }

    @Test("a denial that couldn't be stored isn't stated again after consent")
    func staleDenial() async throws {
        let vendor = ScriptedVendor()
        let store = FailingStore(failing: 0..<1, of: [.setConsent])
        let client = try await vendor.client(store: ClientStore(outbox: store, state: store))
        await client.setConnectivity(.offline)
        let denied = client.session(for: User(id: "ada", consent: .denied))
        await client.core.outbox.drain()
        let session = client.session(for: ada)
        try await session.track(.numbered(1))
        let error = await #expect(throws: ExperimentationError.self) { try await denied.track(.numbered(2)) }
        #expect(error?.code == .consentDenied)
        await client.setConnectivity(.online)
        #expect(try await client.flush(retrying: false).isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == [1])
        await client.shutdown(within: .zero)
    }

    @Test(
        "a linking in progress stores nothing of a user who denies consent, even if the store fails",
        .timeLimit(.minutes(1))
    )
    func linkingMeanwhile() async throws {
        let state = FailingState(slow: "/link/", isUnsure: true)
        let client = try await ExperimentationClient(
            provider: LinkingTests.Provider(linker: LinkingTests.Linker(failures: 0)),
            store: ClientStore(outbox: InMemoryOutboxStore(), state: state)
        )
        let session = client.session(for: LinkingTests.anon)
        let linking = Task { try await session.link(to: LinkingTests.ada) }
        await state.reached.wait()
        try await client.setConsent(.denied, for: LinkingTests.anon)
        state.mayWrite.open()
        await #expect(throws: ExperimentationError.self) { try await linking.value }
        #expect(try await state.keys(beginningWith: "").isEmpty)
    }

    @Test(
        "data stored while its user denied consent is removed by the next run if it couldn't be before",
        .timeLimit(.minutes(1))
    )
    func removedLater() async throws {
        let state = FailingState(slow: "/decisions/", failingRemoval: 2)
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: state)
        let provider = GatedProvider(source: PlanSource())
        let client = try await ExperimentationClient(provider: provider, store: store)
        let session = client.session(for: ada)
        let refreshing = Task { try await session.refresh() }
        await state.reached.wait()
        try await deny(client)
        state.mayWrite.open()
        try await refreshing.value
        await client.shutdown(within: .zero)
        _ = try await ExperimentationClient(provider: provider, store: store)
        #expect(try await state.keys(beginningWith: "").isEmpty)
    }
}

/// A store whose first writing of a kind waits, and one of whose removals fails.
private final class FailingState: StateStoreDecorator {
    let baseState: any StateStore = InMemoryStateStore()
    let reached = AsyncGate()
    let mayWrite = AsyncGate()
    private let slow: String
    private let isUnsure: Bool
    private let failingRemoval: Int
    private let removals = Shared(0)

    /// - Parameters:
    ///   - slow: The kind.
    ///   - isUnsure: Whether the writing that waited is carried out but reported as failed.
    ///   - failingRemoval: The number of the removal that fails, from 1.
    init(slow: String, isUnsure: Bool = false, failingRemoval: Int = 0) {
        (self.slow, self.isUnsure, self.failingRemoval) = (slow, isUnsure, failingRemoval)
    }

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        let isFirst = key.contains(slow) && !reached.isOpen
        if isFirst {
            reached.open()
            await mayWrite.wait()
        }
        try await baseState.setValue(value, for: key)
        if isFirst, isUnsure { throw ExperimentationError(.store, "The disk failed to say that it is done.") }
    }

    func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
        removals.change { $0 += 1 }
        if removals.value == failingRemoval { throw ExperimentationError(.store, "The disk failed.") }
        try await baseState.removeAll(beginningWith: prefixes)
    }
}
