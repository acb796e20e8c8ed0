import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import Experimentation

@Suite("Refreshing")
struct RefreshTests {
    @Test("P30 a failed refresh keeps the last good values, as stale, with their age")
    func stale() async throws {
        let time = ManualTime()
        let provider = InMemoryProvider(flags: [InMemoryFlag("a", true)])
        let client = try await ExperimentationClient(provider: provider, environment: ClientEnvironment(time: time))
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        provider.setFailure(ExperimentationError(.transport, "gone"))
        time.advance(by: .seconds(30))
        await #expect(throws: ExperimentationError(.transport, "gone")) { try await session.refresh(force: true) }
        let details = session.details("a", default: false)
        #expect(details.value)
        #expect(details.reason == .stale)
        #expect(details.age == .seconds(30))
        #expect(client.status == .stale)
        provider.setFailure(nil)
        try await session.refresh(force: true)
        #expect(session.details("a", default: false).reason == .static)
        #expect(client.status == .ready)
    }

    @Test(
        "overdue decisions are stale or missing, depending on the policy",
        arguments: [
            (Freshness.AfterExpiry.stale, Reason.stale, true), (.notReady, .error, false),
        ]
    )
    func overdue(policy: Freshness.AfterExpiry, reason: Reason, value: Bool) async throws {
        let time = ManualTime()
        let provider = InMemoryProvider(
            flags: [InMemoryFlag("a", true)],
            freshness: Freshness(lifetime: .seconds(10), afterExpiry: policy)
        )
        let client = try await ExperimentationClient(provider: provider, environment: ClientEnvironment(time: time))
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        time.advance(by: .seconds(10))
        #expect(session.details("a", default: false).reason == .static)
        try await session.refresh()
        #expect(provider.record.fetches == 1)
        time.advance(by: .milliseconds(1))
        #expect(session.details("a", default: false).reason == reason)
        #expect(session.bool("a", default: false) == value)
        try await session.refresh()
        #expect(provider.record.fetches == 2)
        #expect(session.details("a", default: false).reason == .static)
    }

    @Test("an earlier run's rules are used, as cached, while the vendor is unreachable")
    func offlineStart() async throws {
        let store = ClientStore.inMemory()
        let provider = InMemoryProvider(flags: [InMemoryFlag("a", true)])
        let first = try await ExperimentationClient(provider: provider, store: store)
        try await first.session(for: User(id: "ada")).refresh()
        await first.shutdown()
        provider.setFailure(ExperimentationError(.transport, "gone"))
        let second = try await ExperimentationClient(provider: provider, store: store)
        let session = second.session(for: User(id: "ada"))
        await #expect(throws: ExperimentationError.self) { try await session.refresh() }
        #expect(session.details("a", default: false).value)
        #expect(session.details("a", default: false).reason == .cached)
    }

    @Test("while the vendor is unreachable, the last good rules decide for changed attributes, in the next run as well")
    func changedOffline() async throws {
        let store = ClientStore.inMemory()
        let flag = InMemoryFlag(
            "support",
            variants: ["phone": "phone", "mail": "mail"],
            defaultVariant: "mail",
            target: { $0.user.attributes["plan"] == "pro" ? "phone" : nil }
        )
        let provider = InMemoryProvider(flags: [flag])
        let first = try await ExperimentationClient(provider: provider, store: store)
        let session = first.session(for: User(id: "ada"))
        try await session.refresh()
        provider.setFailure(ExperimentationError(.transport, "gone"))
        try session.update(["plan": "pro"])
        await #expect(throws: ExperimentationError.self) { try await session.refresh() }
        let stale = session.details("support", default: "none")
        #expect(stale.value == "phone" && stale.reason == .stale && stale.age != nil)
        await first.shutdown()

        let second = try await ExperimentationClient(provider: provider, store: store)
        let later = second.session(for: User(id: "ada"))
        await #expect(throws: ExperimentationError.self) { try await later.refresh() }
        #expect(later.string("support", default: "none") == "mail")
        try later.update(["plan": "pro"])
        await #expect(throws: ExperimentationError.self) { try await later.refresh() }
        let cached = later.details("support", default: "none")
        #expect(cached.value == "phone" && cached.reason == .cached)
    }

    @Test("P45 state of another account or from an edited file is not used")
    func swapped() async throws {
        let store = ClientStore.inMemory()
        let flags = [InMemoryFlag("a", true)]
        let first = try await ExperimentationClient(
            provider: InMemoryProvider(scope: "one", flags: flags),
            store: store
        )
        try await first.session(for: User(id: "ada")).refresh()
        let other = InMemoryProvider(scope: "two", flags: flags)
        other.setFailure(ExperimentationError(.transport, "gone"))
        let second = try await ExperimentationClient(provider: other, store: store)
        let session = second.session(for: User(id: "ada"))
        await #expect(throws: ExperimentationError.self) { try await session.refresh() }
        #expect(session.details("a", default: false).errorCode == .providerNotReady)

        for key in try await store.state.keys(beginningWith: "") {
            var value = try #require(try await store.state.value(for: key))
            value[value.count - 1] ^= 1
            try await store.state.setValue(value, for: key)
        }
        let same = InMemoryProvider(scope: "one", flags: flags)
        same.setFailure(ExperimentationError(.transport, "gone"))
        let third = try await ExperimentationClient(provider: same, store: store)
        let again = third.session(for: User(id: "ada"))
        await #expect(throws: ExperimentationError.self) { try await again.refresh() }
        #expect(again.details("a", default: false).errorCode == .providerNotReady)
    }

    @Test("P32 a thousand concurrent refreshes are one request")
    func coalesced() async throws {
        let source = GatedSource()
        let client = try await ExperimentationClient(provider: GatedProvider(source: source))
        let session = client.session(for: User(id: "ada"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<1_000 { group.addTask { try await session.refresh() } }
            try await eventually("a thousand callers") { client.core.decisionFlights.callers >= 1_000 }
            source.open()
            try await group.waitForAll()
        }
        #expect(source.requests == 1)
        #expect(session.bool("a", default: false))
    }

    @Test("an answer for another user is never published")
    func mixed() async throws {
        let source = GatedSource()
        let client = try await ExperimentationClient(provider: GatedProvider(source: source))
        let session = client.session(for: User(id: "ada"))
        async let refreshed: Void = session.refresh()
        await source.waitUntilAsked()
        session.identify(Identity(id: "bob"))
        source.open()
        try await refreshed
        #expect(session.string("user", default: "") == "bob")
    }

    @Test("a request for the former user that fails late leaves the new user's decisions fresh")
    func lateFailure() async throws {
        let source = SlowForAda()
        let client = try await ExperimentationClient(provider: GatedProvider(source: source))
        let session = client.session(for: User(id: "ada"))
        let former = Task { try await session.refresh() }
        await source.isAsked.wait()
        session.identify(Identity(id: "bob"))
        try await session.refresh()
        source.mayFail.open()
        await #expect(throws: ExperimentationError(.transport, "gone")) { try await former.value }
        let details = session.details("user", default: "")
        #expect(details.value == "bob")
        #expect(details.reason != .stale && details.age == nil)
    }

    @Test("a caller who stops waiting for rules leaves them good for everybody else")
    func cancelledFetch() async throws {
        let source = GatedRules()
        let client = try await ExperimentationClient(provider: source)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        let impatient = Task { try await client.refresh(force: true) }
        await source.isAskedAgain.wait()
        impatient.cancel()
        let error = await #expect(throws: ExperimentationError.self) { try await impatient.value }
        #expect(error?.code == .cancelled)
        #expect(client.status == .ready)
        #expect(client.details("a", default: false, for: User(id: "bob")).reason == .static)
        #expect(session.details("a", default: false).reason == .static)
        source.mayAnswer.open()
        await client.shutdown()
    }

    @Test("a vendor is asked again within the lifetime of its answer if the client's attributes have changed")
    func changedAmbience() async throws {
        let source = PlanSource()
        let client = try await ExperimentationClient(
            provider: GatedProvider(source: source),
            environment: ClientEnvironment(time: ManualTime())
        )
        let session = client.session(for: User(id: "ada"))
        client.attributes = ["plan": "free"]
        for _ in 0..<2 { try await session.refresh() }
        #expect(session.string("plan", default: "none") == "free")
        client.attributes = ["plan": "pro"]
        for _ in 0..<2 { try await session.refresh() }
        #expect(session.string("plan", default: "none") == "pro")
        #expect(source.requests.value == 2)
    }

    @Test(
        "an adapter that has been stopped leaves the decisions of its vendor good",
        arguments: [ErrorCode.shutDown, .cancelled]
    )
    func stopped(code: ErrorCode) async throws {
        let source = PlanSource()
        let client = try await ExperimentationClient(provider: GatedProvider(source: source))
        let session = client.session(for: User(id: "ada", attributes: ["plan": "free"]))
        try await session.refresh()
        source.failure.value = ExperimentationError(code, "stopped")
        await #expect(throws: ExperimentationError(code, "stopped")) { try await session.refresh(force: true) }
        #expect(session.status == .ready)
        #expect(client.status == .ready)
    }

    @Test("decisions of a vendor that is asked survive a restart")
    func keptAnswer() async throws {
        let store = ClientStore.inMemory()
        let source = GatedSource()
        source.open()
        let first = try await ExperimentationClient(provider: GatedProvider(source: source), store: store)
        try await first.session(for: User(id: "ada")).refresh()
        source.fail()
        let second = try await ExperimentationClient(provider: GatedProvider(source: source), store: store)
        let session = second.session(for: User(id: "ada"))
        await #expect(throws: ExperimentationError.self) { try await session.refresh() }
        #expect(session.details("user", default: "").value == "ada")
        #expect(session.details("user", default: "").reason == .cached)
        let other = second.session(for: User(id: "bob"))
        await #expect(throws: ExperimentationError.self) { try await other.refresh() }
        #expect(other.details("user", default: "").errorCode == .providerNotReady)
    }

    @Test(
        "decisions of an earlier run expire as those of this one do",
        arguments: [(Freshness.AfterExpiry.stale, "free", Reason.stale), (.notReady, "none", .error)]
    )
    func keptTooLong(policy: Freshness.AfterExpiry, value: String, reason: Reason) async throws {
        let time = ManualTime()
        let store = ClientStore.inMemory()
        let source = PlanSource(freshness: Freshness(lifetime: .seconds(600), afterExpiry: policy))
        let ada = User(id: "ada", attributes: ["plan": "free"])
        func session() async throws -> UserSession {
            try await ExperimentationClient(
                provider: GatedProvider(source: source),
                store: store,
                environment: ClientEnvironment(time: time)
            ).session(for: ada)
        }
        try await session().refresh()
        source.failure.value = ExperimentationError(.transport, "gone")
        time.advance(by: .seconds(599))
        let early = try await session()
        await #expect(throws: ExperimentationError.self) { try await early.refresh() }
        #expect(early.details("plan", default: "none").value == "free")
        #expect(early.details("plan", default: "none").reason == .cached)
        time.advance(by: .seconds(2))
        let late = try await session()
        await #expect(throws: ExperimentationError.self) { try await late.refresh() }
        #expect(late.details("plan", default: "none").value == value)
        #expect(late.details("plan", default: "none").reason == reason)
    }

    @Test(
        "decisions of an earlier run that have expired aren't announced as ready",
        arguments: [
            (Freshness.AfterExpiry.stale, [ProviderEvent(.stale, status: .stale)]), (.notReady, []),
        ]
    )
    func overdueAtTheStart(policy: Freshness.AfterExpiry, restored: [ProviderEvent]) async throws {
        let (time, store) = (ManualTime(), ClientStore.inMemory())
        let source = PlanSource(freshness: Freshness(lifetime: .seconds(600), afterExpiry: policy))
        func client() async throws -> ExperimentationClient {
            try await ExperimentationClient(
                provider: GatedProvider(source: source),
                store: store,
                environment: ClientEnvironment(time: time)
            )
        }
        try await client().session(for: User(id: "ada")).refresh()
        source.failure.value = ExperimentationError(.transport, "gone")
        time.advance(by: .seconds(601))
        let later = try await client()
        let events = later.statusEvents()
        await #expect(throws: ExperimentationError.self) {
            try await later.session(for: User(id: "ada")).refresh()
        }
        await later.shutdown()
        var seen: [ProviderEvent] = []
        for await event in events { seen.append(event) }
        let gone = ExperimentationError(.transport, "gone")
        #expect(
            seen == [ProviderEvent(.reconciling, status: .notReady)] + restored + [
                ProviderEvent(.stale, status: .stale, error: gone)
            ]
        )
    }

    @Test("P36 the kill switch reaches every session, survives a restart, and lifts cleanly")
    func killSwitch() async throws {
        let store = ClientStore.inMemory()
        let provider = InMemoryProvider(flags: [InMemoryFlag("a", true)])
        let client = try await ExperimentationClient(provider: provider, store: store)
        let session = client.session(for: User(id: "ada", consent: .granted))
        let other = client.session(for: User(id: "bob", consent: .granted))
        try await session.refresh()
        try await other.refresh()
        provider.setDisabled(true)
        try await session.refresh(force: true)
        #expect(other.details("a", default: false) == EvaluationDetails(flagKey: "a", value: false, reason: .disabled))
        #expect(client.status == .disabled)
        try await session.track(.custom("bought"))
        #expect(try await client.flush().isDone == false)
        #expect(provider.delivered.isEmpty)
        await client.shutdown()

        let second = try await ExperimentationClient(provider: provider, store: store)
        #expect(second.status == .disabled)
        let later = second.session(for: User(id: "ada", consent: .granted))
        #expect(later.details("a", default: false).reason == .disabled)
        provider.setDisabled(false)
        try await later.refresh()
        #expect(later.bool("a", default: false))
        #expect(try await second.flush().isDone)
        #expect(provider.delivered == [.custom("bought")])
    }

    @Test("P36 a kill switch received with the last delivery is stored before shutdown ends")
    func killSwitchAtTheEnd() async throws {
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: HesitantState())
        let vendor = ScriptedVendor { _ in DeliveryReport(.delivered, isDisabled: true) }
        let client = try await vendor.client(store: store)
        try await client.session(for: User(id: "ada", consent: .granted)).track(.custom("last"))
        await client.shutdown()
        #expect(try await vendor.client(store: store).status == .disabled)
    }

    @Test("events for an unreachable vendor use bounded memory in their session")
    func boundedEpochs() async throws {
        let client = try await ExperimentationClient(provider: InMemoryProvider(capabilities: [.tracking, .campaigns]))
        await client.setConnectivity(.offline)
        let session = client.session(for: User(id: "ada", consent: .granted))
        for _ in 0..<(UserSession.mostEpochs + 10) { try await session.track(.custom("a")) }
        let count = session.state.withLock { $0.epochs.count }
        #expect(count == 10)
    }

    @Test("status changes are announced once, in order, and a late observer gets the current one")
    func status() async throws {
        let provider = InMemoryProvider(flags: [InMemoryFlag("a", true)])
        let client = try await ExperimentationClient(provider: provider)
        let events = client.statusEvents()
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        try await session.refresh(force: true)
        provider.replace(flags: [InMemoryFlag("a", false)])
        try await session.refresh(force: true)
        try await session.refresh(force: true)
        let gone = ExperimentationError(.transport, "gone")
        provider.setFailure(gone)
        try? await session.refresh(force: true)
        try? await session.refresh(force: true)
        let late = client.statusEvents()
        await client.shutdown()
        var seen: [ProviderEvent] = []
        for await event in events { seen.append(event) }
        #expect(
            seen == [
                ProviderEvent(.reconciling, status: .notReady), ProviderEvent(.ready, status: .ready),
                ProviderEvent(.configurationChanged, status: .ready),
                ProviderEvent(.stale, status: .stale, error: gone),
            ]
        )
        var lateSeen: [ProviderEvent] = []
        for await event in late { lateSeen.append(event) }
        #expect(lateSeen == [ProviderEvent(.stale, status: .stale, error: gone)])
    }
}

/// Decides a flag with the user's name once a gate is open.
final class GatedSource: DecisionSource {
    private struct State {
        var requests = 0
        var isOpen = false
        var fails = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var asked: [CheckedContinuation<Void, Never>] = []
    }
    private let state = Mutex(State())
    let freshness = Freshness()

    var requests: Int { state.withLock { $0.requests } }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func fail() { state.withLock { $0.fails = true } }

    func waitUntilAsked() async {
        await withCheckedContinuation { continuation in
            let isAsked = state.withLock { state in
                if state.requests == 0 { state.asked.append(continuation) }
                return state.requests > 0
            }
            if isAsked { continuation.resume() }
        }
    }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let asked = state.withLock { state in
            state.requests += 1
            defer { state.asked = [] }
            return state.asked
        }
        for continuation in asked { continuation.resume() }
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
        if state.withLock({ $0.fails }) { throw ExperimentationError(.transport, "gone") }
        return .decided(
            Decisions(flags: [("a", Resolution(true)), ("user", Resolution(.string(context.user.id)))])
        )
    }
}

/// Decides a flag with the user's plan, for ten minutes.
private struct PlanSource: DecisionSource {
    var freshness = Freshness(lifetime: .seconds(600))
    let requests = Shared(0)
    let failure = Shared<ExperimentationError?>(nil)

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        requests.change { $0 += 1 }
        if let failure = failure.value { throw failure }
        return .decided(Decisions(flags: [("plan", Resolution(context["plan"] ?? .null))]))
    }
}

/// Answers at once, but for one user, for whom it fails when told to.
private final class SlowForAda: DecisionSource {
    let freshness = Freshness()
    let isAsked = AsyncGate()
    let mayFail = AsyncGate()

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        guard context.user.id == "ada" else {
            return .decided(Decisions(flags: [("user", Resolution(.string(context.user.id)))]))
        }
        isAsked.open()
        await mayFail.wait()
        throw ExperimentationError(.transport, "gone")
    }
}

/// Publishes rules with one flag: at once, and again when a gate is open.
private final class GatedRules: ExperimentationProvider, RulesetSource, Ruleset {
    let name = "gated rules"
    let scope = ""
    let capabilities: Set<Capability> = [.flags]
    let freshness = Freshness()
    let isAskedAgain = AsyncGate()
    let mayAnswer = AsyncGate()
    private let requests = Shared(0)
    private let rules = Decisions(flags: [("a", Resolution(true, reason: .static))])

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .computed(self))
    }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        requests.change { $0 += 1 }
        if requests.value > 1 {
            isAskedAgain.open()
            await mayAnswer.wait()
        }
        return .replaced(self, validator: nil, raw: [])
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset { self }

    var catalogue: FlagCatalogue { rules.catalogue }

    func decisions(for context: EvaluationContext) -> Decisions { rules }
}

struct GatedProvider: ExperimentationProvider {
    let source: any DecisionSource
    var name: String { "gated" }
    var scope: String { "" }
    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .asked(source))
    }
    var capabilities: Set<Capability> { [.flags] }
}

/// A store with slow writes.
private struct HesitantState: StateStoreDecorator {
    let baseState: any StateStore = InMemoryStateStore()

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        for _ in 0..<10_000 { await Task.yield() }
        try await baseState.setValue(value, for: key)
    }
}
