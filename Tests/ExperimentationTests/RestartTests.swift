import ExperimentationTesting
import Testing

@testable import Experimentation

@Suite("State of an earlier run")
struct RestartTests {
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

    @Test(
        "decisions of an earlier run don't change a status that the vendor has determined",
        arguments: [
            (599.0, DecisionAnswer.decided(.none), ProviderStatus.ready), (601, .decided(.none), .ready),
            (599, .disabled, .disabled),
        ]
    )
    func knownStatus(later: Double, answer: DecisionAnswer, status: ProviderStatus) async throws {
        let (time, store) = (ManualTime(), ClientStore.inMemory())
        func client(_ source: any DecisionSource) async throws -> ExperimentationClient {
            try await ExperimentationClient(
                provider: GatedProvider(source: source),
                store: store,
                environment: ClientEnvironment(time: time)
            )
        }
        let lifetime = Freshness(lifetime: .seconds(600))
        try await client(PlanSource(freshness: lifetime)).session(for: User(id: "ada")).refresh()
        time.advance(by: .seconds(later))
        let second = try await client(ConstantSource(freshness: lifetime, answer: answer))
        try await second.session(for: User(id: "bob")).refresh()
        #expect(second.status == status)
        let events = second.statusEvents()
        try await second.session(for: User(id: "ada")).refresh()
        await second.shutdown()
        #expect(await events.reduce(into: []) { $0.append($1.status) } == [status])
    }

    /// A vendor that always gives the same answer.
    private struct ConstantSource: DecisionSource {
        let freshness: Freshness
        let answer: DecisionAnswer

        func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer { answer }
    }

    /// A store that is slow to read values of a kind.
    private struct SlowReading: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let kind: String
        let reached = AsyncGate()
        let mayRead = AsyncGate()

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            let value = try await baseState.value(for: key)
            if value != nil, key.contains(kind) {
                reached.open()
                await mayRead.wait()
            }
            return value
        }
    }

    @Test(
        "decisions that are being restored aren't read by the next user of the session",
        .timeLimit(.minutes(1)),
        arguments: ["bob", "cafe\u{301}"]
    )
    func decisionsOfAnother(id: String) async throws {
        let slow = SlowReading(kind: "/decisions/")
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: slow)
        let source = GatedSource()
        source.open()
        let former = User(id: "caf\u{e9}")
        try await ExperimentationClient(provider: GatedProvider(source: source), store: store)
            .session(for: former).refresh()
        source.fail()
        let session = try await ExperimentationClient(provider: GatedProvider(source: source), store: store)
            .session(for: former)
        let refreshing = Task { try await session.refresh() }
        await slow.reached.wait()
        session.identify(Identity(id: id))
        slow.mayRead.open()
        await #expect(throws: ExperimentationError.self) { try await refreshing.value }
        #expect(session.details("user", default: "").errorCode == .providerNotReady)
    }

    @Test(
        "assignments that are being restored aren't honored for the next user of the session",
        .timeLimit(.minutes(1)),
        arguments: ["bob", "cafe\u{301}"]
    )
    func assignmentsOfAnother(id: String) async throws {
        let slow = SlowReading(kind: "/assignments/")
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: slow)
        let provider = InMemoryProvider(experiments: AssignmentTests.arms(100, 0))
        let former = User(id: "caf\u{e9}", consent: .granted)
        try await ExperimentationClient(provider: provider, store: store).session(for: former).refresh()
        provider.replace(flags: [], experiments: AssignmentTests.arms(0, 100))
        let session = try await ExperimentationClient(provider: provider, store: store).session(for: former)
        let refreshing = Task { try await session.refresh(force: true) }
        await slow.reached.wait()
        session.identify(Identity(id: id))
        slow.mayRead.open()
        try await refreshing.value
        #expect(session.string("f", default: "") == "b")
    }

    @Test(
        "a session's last decisions are stored, even if storing earlier ones took longer",
        .timeLimit(.minutes(1))
    )
    func lastDecisions() async throws {
        let slow = SlowWriting()
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: slow)
        let source = PlanSource()
        let provider = GatedProvider(source: source)
        let client = try await ExperimentationClient(provider: provider, store: store)
        let session = client.session(for: User(id: "ada", attributes: ["plan": "free"]))
        let first = Task { try await session.refresh() }
        await slow.reached.wait()
        try session.update(["plan": "pro"])
        let second = Task { try await session.refresh() }
        await yield(until: { session.string("plan", default: "") == "pro" })
        await yield(times: 200)
        slow.mayWrite.open()
        try await first.value
        try await second.value
        source.failure.value = ExperimentationError(.transport, "gone")
        let later = try await ExperimentationClient(provider: provider, store: store).session(for: User(id: "ada"))
        await #expect(throws: ExperimentationError.self) { try await later.refresh() }
        #expect(later.string("plan", default: "") == "pro")
    }
}

/// A store whose first writing of decisions waits, and no other one.
private struct SlowWriting: StateStoreDecorator {
    let baseState: any StateStore = InMemoryStateStore()
    let reached = AsyncGate()
    let mayWrite = AsyncGate()

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        if key.contains("/decisions/"), !reached.isOpen {
            reached.open()
            await mayWrite.wait()
        }
        try await baseState.setValue(value, for: key)
    }
}
