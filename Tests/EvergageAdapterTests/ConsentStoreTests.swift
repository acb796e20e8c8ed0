import Experimentation
import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import EvergageAdapter

@Suite("Consent and a store that fails")
@MainActor
struct ConsentStoreTests {
    /// The occasions on which the application tries again.
    enum Occasion: CaseIterable, Sendable { case repetition, background, flush }

    private func seize(_ occasion: Occasion, in app: App) async {
        switch occasion {
        case .repetition: app.evergage.setConsent(.denied)
        case .background: app.evergage.setApplicationState(.background)
        case .flush: await app.settle()
        }
        await app.evergage.operations.latest?.value
    }

    /// Returns an application without a network where an event waits whose user has signed out.
    private func waiting(in store: ClientStore) async throws -> App {
        let app = try await App(store: store)
        app.evergage.setConnectivity(.offline)
        await app.settle()
        app.evergage.userID = "u-1"
        try app.global.trackAction("A")
        app.evergage.userID = "u-2"
        await app.settle()
        return app
    }

    @Test("a denial holds after a restart, even if the process ended before the client knew of it")
    func storedFirst() async throws {
        let state = InMemoryStateStore()
        let outbox = StuckOutbox()
        let first = try await App(store: ClientStore(outbox: outbox, state: state))
        first.evergage.setConsent(.granted)
        await first.settle()
        first.evergage.setConsent(.denied)
        try await outbox.denials.isReached()
        let second = try await App(store: ClientStore(outbox: InMemoryOutboxStore(), state: state))
        try second.global.trackAction("A")
        await second.settle()
        #expect(second.actions == [])
        outbox.denials.open()
        await first.settle()
    }

    @Test("a flush ends at its limit while a store hangs, and waiting events aren't sent before a denial is stored")
    func hangs() async throws {
        let outbox = StuckOutbox()
        let app = try await waiting(in: ClientStore(outbox: outbox, state: InMemoryStateStore()))
        app.evergage.setConsent(.denied)
        app.evergage.setConnectivity(.online)
        try await outbox.denials.isReached()
        let isOver = Atomic(false)
        let flush = Task {
            await app.evergage.flush(within: .seconds(2))
            isOver.store(true, ordering: .relaxed)
        }
        defer { outbox.denials.open() }
        try await eventually("the end of the flush", within: .seconds(60)) {
            app.time.advance(by: .seconds(1))
            return isOver.load(ordering: .relaxed)
        }
        await flush.value
        outbox.denials.open()
        await app.settle()
        #expect(app.actions == [])
        #expect(try await app.evergage.client?.ledger() == Ledger(accepted: 1, purged: 1))
    }

    @Test("a denial that couldn't be stored is stored at the next opportunity", arguments: Occasion.allCases)
    func storedLater(_ occasion: Occasion) async throws {
        let store = FragileStore()
        let first = try await App(store: store.stores)
        first.evergage.setConsent(.granted)
        await first.settle()
        store.fail(.setValue)
        first.evergage.setConsent(.denied)
        await first.settle()
        #expect(first.complaints(.error) != [])
        store.fail(nil)
        await seize(occasion, in: first)
        let second = try await App(store: store.stores)
        try second.global.trackAction("A")
        await second.settle()
        #expect(second.actions == [])
    }

    @Test(
        "events that a denial couldn't remove are removed at the next opportunity, and not sent before",
        arguments: Occasion.allCases
    )
    func removedLater(_ occasion: Occasion) async throws {
        let store = FragileStore()
        let app = try await waiting(in: store.stores)
        let client = try #require(app.evergage.client)
        store.fail(.remove)
        app.evergage.setConsent(.denied)
        app.evergage.setConnectivity(.online)
        await app.settle()
        #expect(app.actions == [])
        #expect(try await client.ledger() == Ledger(accepted: 1, pending: 1))
        store.fail(nil)
        await seize(occasion, in: app)
        #expect(try await client.ledger() == Ledger(accepted: 1, purged: 1))
        #expect(app.actions == [])
    }

    @Test(
        "a start during a denial sends nothing while it can't remove events of an earlier run",
        arguments: [true, false]
    )
    func heldAtStart(isDeniedFirst: Bool) async throws {
        let store = FragileStore()
        let first = try await waiting(in: store.stores)
        await first.evergage.client?.shutdown(within: .zero)
        store.fail(.remove)
        let second = try await App(start: false, store: store.stores)
        if isDeniedFirst { second.evergage.setConsent(.denied) }
        second.evergage.start(.test)
        second.evergage.setConsent(.denied)
        await second.settle()
        #expect(second.actions == [])
        let client = try #require(second.evergage.client)
        #expect(try await client.ledger() == Ledger(accepted: 1, pending: 1))
        store.fail(nil)
        await second.settle()
        #expect(second.actions == [])
        #expect(try await client.ledger() == Ledger(accepted: 1, purged: 1))
    }

    @Test(
        "a grant first carries out the removal that an earlier denial still owes, and ends the wait for it",
        arguments: [(nil, ["B"]), (.remove, ["A", "B"])] as [(StoreOperation?, [String])]
    )
    func granted(failing: StoreOperation?, sent: [String]) async throws {
        let store = FragileStore()
        let app = try await waiting(in: store.stores)
        store.fail(.remove)
        app.evergage.setConsent(.denied)
        app.evergage.setConnectivity(.online)
        await app.settle()
        store.fail(failing)
        app.evergage.setConsent(.granted)
        try app.global.trackAction("B")
        await app.settle()
        #expect(app.actions == sent)
    }

    @Test(
        "no campaign is shown after its user denies consent, however slow the store is",
        arguments: [true, false]
    )
    func campaign(isGrantedAgain: Bool) async throws {
        let state = StuckState()
        let app = try await App(
            campaigns: App.campaign("c-1", action: "A"),
            App.campaign("c-2", action: "B"),
            store: ClientStore(outbox: InMemoryOutboxStore(), state: state)
        )
        try app.global.trackAction("A")
        await app.settle()
        try #require(app.evergage.session?.heldCampaigns().map(\.id) == ["c-1"])
        app.evergage.setConsent(.denied)
        if isGrantedAgain { app.evergage.setConsent(.granted) }
        let shown = Shown()
        try app.global.setCampaignHandler(forTarget: "T", shown.handler)
        try await state.denials.isReached()
        await mainActorTurn()
        #expect(shown.ids == [])
        state.denials.open()
        app.evergage.setConsent(.granted)
        await app.settle()
        try app.global.trackAction("B")
        await app.settle()
        #expect(shown.ids == ["c-2"], "handlers stay")
    }
}

/// A state store that accepts no denial until a test lets it.
private final class StuckState: StateStoreDecorator {
    let baseState: any StateStore = InMemoryStateStore()
    let denials = Turnstile()

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        if value == Array(Consent.denied.rawValue.utf8) { await denials.pass() }
        try await baseState.setValue(value, for: key)
    }
}

/// Stores in which one operation fails while a test wants it to.
private final class FragileStore: OutboxStoreDecorator, StateStoreDecorator {
    let base: any OutboxStore = InMemoryOutboxStore()
    let baseState: any StateStore = InMemoryStateStore()
    private let failing = Mutex<StoreOperation?>(nil)

    var stores: ClientStore { ClientStore(outbox: self, state: self) }

    func fail(_ operation: StoreOperation?) { failing.withLock { $0 = operation } }

    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        if failing.withLock({ $0 == operation }) { throw ExperimentationError(.store, "the disk is full") }
        return try await body()
    }
}

/// An outbox that carries out no denial until a test lets it.
private final class StuckOutbox: OutboxStoreDecorator {
    let base: any OutboxStore = InMemoryOutboxStore()
    let denials = Turnstile()

    func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        if changes.contains(where: { !$0.isGranted }) { await denials.pass() }
        return try await base.setConsent(changes)
    }
}
