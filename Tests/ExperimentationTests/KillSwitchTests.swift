import ExperimentationTesting
import Testing
import Waiting

@testable import Experimentation

@Suite("The kill switch")
struct KillSwitchTests {
    /// A state store in which writing the kill switch waits.
    private struct SlowSwitch: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        /// Whether only its end waits.
        var isQuickToThrow = false
        let reached = AsyncGate()
        let mayWrite = AsyncGate()

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            if key.hasSuffix("/kill-switch"), value == nil || !isQuickToThrow {
                reached.open()
                await mayWrite.wait()
            }
            try await baseState.setValue(value, for: key)
        }
    }

    @Test("reporting the switch returns once it is stored, even if another caller reported it first")
    func repeated() async throws {
        let slow = SlowSwitch()
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: slow)
        let client = try await ScriptedVendor().client(store: store)
        let first = Task { await client.core.killSwitch.set(true) }
        await slow.reached.wait()
        let hasReturned = Shared(false)
        let second = Task {
            await client.core.killSwitch.set(true)
            hasReturned.value = true
        }
        for _ in 0..<200 { await Task.yield() }
        #expect(!hasReturned.value)
        slow.mayWrite.open()
        await first.value
        await second.value
        #expect(try await store.state.keys(beginningWith: "").contains { $0.hasSuffix("/kill-switch") })
        await client.shutdown(within: .zero)
    }

    /// A state store that can't read or write the kill switch while it fails.
    private struct FailingSwitch: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let isFailing = Shared(true)

        private func pass(_ key: String) throws(ExperimentationError) {
            if isFailing.value, key.hasSuffix("/kill-switch") { throw ExperimentationError(.store, "locked") }
        }

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            try pass(key)
            return try await baseState.value(for: key)
        }

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            try pass(key)
            try await baseState.setValue(value, for: key)
        }

        var isOn: Bool {
            get async throws { try await keys(beginningWith: "").contains { $0.hasSuffix("/kill-switch") } }
        }
    }

    @Test("a state that couldn't be stored is stored with the vendor's next answer", arguments: [true, false])
    func storedLater(isOn: Bool) async throws {
        let state = FailingSwitch()
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: state)
        if !isOn {
            state.isFailing.value = false
            let client = try await ScriptedVendor().client(store: store)
            await client.core.killSwitch.set(true)
            await client.shutdown(within: .zero)
            state.isFailing.value = true
        }
        let time = ManualTime()
        let client = try await time.passing { try await ScriptedVendor().client(store: store, time: time) }
        await client.core.killSwitch.set(isOn)
        state.isFailing.value = false
        await client.core.killSwitch.set(isOn)
        #expect(try await state.isOn != isOn)
        time.advance(by: .seconds(2))
        await client.core.killSwitch.set(isOn)
        #expect(try await state.isOn == isOn)
        await client.shutdown(within: .zero)
    }

    @Test("a reader finds the rules that ended the kill switch as soon as it is off", .timeLimit(.minutes(1)))
    func released() async throws {
        let slow = SlowSwitch(isQuickToThrow: true)
        let provider = InMemoryProvider(flags: [InMemoryFlag("a", true)])
        provider.setDisabled(true)
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: slow)
        let client = try await ExperimentationClient(provider: provider, store: store)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        #expect(client.status == .disabled)
        provider.setDisabled(false)
        let refresh = Task { try await session.refresh(force: true) }
        await slow.reached.wait()
        #expect(client.bool("a", default: false, for: User(id: "bob")))
        slow.mayWrite.open()
        try await refresh.value
        await client.shutdown(within: .zero)
    }

    @Test("a later refresh isn't answered with rules found before it, even while the end of the switch is being stored")
    func readBeforeStored() async throws {
        let slow = SlowSwitch(isQuickToThrow: true)
        let provider = InMemoryProvider(flags: [InMemoryFlag("a", 1)])
        provider.setDisabled(true)
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: slow)
        let client = try await ExperimentationClient(provider: provider, store: store)
        try await client.refresh()
        provider.setDisabled(false)
        let first = Task { try await client.refresh(force: true) }
        await slow.reached.wait()
        #expect(client.int("a", default: 0, for: User(id: "bob")) == 1)
        provider.set(InMemoryFlag("a", 2))
        let second = Task { try await client.refresh(force: true) }
        for _ in 0..<200 { await Task.yield() }
        slow.mayWrite.open()
        try await first.value
        try await second.value
        #expect(client.int("a", default: 0, for: User(id: "bob")) == 2)
        await client.shutdown(within: .zero)
    }

    @Test(
        "a later refresh isn't answered with the switch found before it, even while that is being stored",
        .timeLimit(.minutes(1))
    )
    func thrownBeforeStored() async throws {
        let slow = SlowSwitch()
        let provider = InMemoryProvider(flags: [InMemoryFlag("a", true)])
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: slow)
        let client = try await ExperimentationClient(provider: provider, store: store)
        provider.setDisabled(true)
        let first = Task { try await client.refresh(force: true) }
        await slow.reached.wait()
        #expect(client.details("a", default: false, for: User(id: "bob")).reason == .disabled)
        provider.setDisabled(false)
        let second = Task { try await client.refresh(force: true) }
        for _ in 0..<200 { await Task.yield() }
        slow.mayWrite.open()
        try await first.value
        try await second.value
        #expect(client.bool("a", default: false, for: User(id: "bob")))
        await client.shutdown(within: .zero)
    }

    /// A vendor that is asked: disabled at first, then it numbers its answers.
    private struct Numbering: DecisionSource {
        let freshness = Freshness()
        let asked = Shared(0)

        func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
            asked.change { $0 += 1 }
            let number = asked.value - 1
            return number == 0 ? .disabled : .decided(Decisions(flags: [("number", Resolution(.int(number)))]))
        }
    }

    @Test(
        "a caller that finds the switch on asks again if another's answer ends it while it is being stored",
        .timeLimit(.minutes(1))
    )
    func endedByAnother() async throws {
        let (slow, source) = (SlowSwitch(), Numbering())
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: slow)
        let client = try await ExperimentationClient(provider: GatedProvider(source: source), store: store)
        let session = client.session(for: User(id: "ada"))
        let finding = Task { try await session.refresh() }
        await slow.reached.wait()
        let ending = Task { try await client.session(for: User(id: "ben")).refresh() }
        try await eventually("another's answer has ended it") { !client.core.isDisabled }
        slow.mayWrite.open()
        try await finding.value
        try await ending.value
        #expect(session.status == .ready)
        #expect(session.int("number", default: 0) == 2)
        await client.shutdown(within: .zero)
    }

    @Test("a refresh returns whether it found decisions, for callers that look later")
    func found() async throws {
        let client = try await ExperimentationClient(
            provider: GatedProvider(source: Numbering()),
            store: ClientStore(outbox: InMemoryOutboxStore(), state: InMemoryStateStore())
        )
        let session = client.session(for: User(id: "ada"))
        #expect(try await !session.refreshUnlessDisabled())
        #expect(try await session.refreshUnlessDisabled())
        await client.shutdown(within: .zero)
    }

    @Test(
        "the decisions that end the kill switch are read at once, and older ones never follow newer ones",
        arguments: 0..<10
    )
    func releasedByDecisions(round: Int) async throws {
        let (slow, source) = (SlowSwitch(isQuickToThrow: true), Numbering())
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: slow)
        let client = try await ExperimentationClient(provider: GatedProvider(source: source), store: store)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        let first = Task { try await session.refresh() }
        await slow.reached.wait()
        #expect(session.int("number", default: 0) == 1)
        let second = Task { try await session.refresh() }
        try await eventually("a third question") { source.asked.value == 3 }
        for _ in 0..<200 { await Task.yield() }
        slow.mayWrite.open()
        try await first.value
        try await second.value
        #expect(session.int("number", default: 0) == 2)
        await client.shutdown(within: .zero)
    }

    @Test("a vendor that is disabled again meanwhile isn't announced as ready", arguments: [true, false])
    func thrownAgain(isInSession: Bool) async throws {
        let slow = SlowSwitch(isQuickToThrow: true)
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: slow)
        let client = try await ExperimentationClient(provider: GatedProvider(source: Numbering()), store: store)
        let ada = User(id: "ada")
        let session = client.session(for: ada)
        try await session.refresh()
        let events = client.statusEvents()
        let refreshing = Task {
            if isInSession { try await session.refresh() } else { _ = try await client.decisions(for: ada) }
        }
        await slow.reached.wait()
        let throwing = Task { await client.core.killSwitch.set(true) }
        try await eventually("the switch is on") { client.core.killSwitch.isOn }
        slow.mayWrite.open()
        try await refreshing.value
        await throwing.value
        #expect(client.status == .disabled)
        await client.shutdown(within: .zero)
        #expect(await events.reduce(into: []) { $0.append($1.status) } == [.disabled])
    }

    @Test("an answer to a request from before the switch was turned on doesn't turn it off", .timeLimit(.minutes(1)))
    func lateAnswer() async throws {
        let source = GatedSource()
        let client = try await ExperimentationClient(provider: GatedProvider(source: source))
        let late = Task { try await client.session(for: User(id: "ada")).refresh() }
        await source.waitUntilAsked()
        await client.core.killSwitch.set(true)
        source.open()
        try await late.value
        #expect(client.status == .disabled)
        try await client.session(for: User(id: "bob")).refresh()
        #expect(client.status == .ready)
        await client.shutdown(within: .zero)
    }

    @Test("after many reports at once, deliveries, the stored value and the next read agree", arguments: 0..<20)
    func together(round: Int) async throws {
        let store = ClientStore.inMemory()
        let vendor = ScriptedVendor()
        let client = try await vendor.client(store: store)
        await withTaskGroup { group in
            for number in 0..<40 { group.addTask { await client.core.killSwitch.set(number.isMultiple(of: 2)) } }
        }
        let isOn = client.core.killSwitch.isOn
        let isStored = try await store.state.keys(beginningWith: "").contains { $0.hasSuffix("/kill-switch") }
        #expect(isStored == isOn)
        try await client.session(for: User(id: "ada", consent: .granted)).track(.numbered(1))
        #expect(try await client.flush(retrying: false).isDone == !isOn)
        await client.shutdown(within: .zero)
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
}

/// A store with slow writes.
private struct HesitantState: StateStoreDecorator {
    let baseState: any StateStore = InMemoryStateStore()

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        for _ in 0..<10_000 { await Task.yield() }
        try await baseState.setValue(value, for: key)
    }
}
