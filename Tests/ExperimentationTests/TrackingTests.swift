import Experimentation
import ExperimentationTesting
import Foundation
import Testing
import Waiting

@Suite("Tracking")
struct TrackingTests {
    let time = ManualTime()

    func client(
        _ provider: InMemoryProvider,
        store: ClientStore = .inMemory(),
        log: any LogSink = NoLog()
    ) async throws -> ExperimentationClient {
        try await ExperimentationClient(
            provider: provider,
            store: store,
            environment: ClientEnvironment(time: time, jitter: { 0.5 }, log: log)
        )
    }

    static let ada = User(id: "ada", consent: .granted)

    @Test("events are delivered in order, with their times, once there are enough")
    func count() async throws {
        let provider = InMemoryProvider(batching: BatchPolicy(count: 3, interval: .seconds(60)))
        let client = try await client(provider)
        let session = client.session(for: Self.ada)
        let start = time.now
        try await session.track(.custom("one"))
        time.advance(by: .seconds(1))
        try await session.track(.custom("two"))
        #expect(provider.delivered.isEmpty)
        try await session.track(.custom("three"))
        try await client.flush()
        #expect(provider.delivered == [.custom("one"), .custom("two"), .custom("three")])
        #expect(provider.record.delivered.map { $0.date.timeIntervalSince(start) } == [0, 1, 1])
        #expect(try await client.ledger() == Ledger(accepted: 3, delivered: 3))
    }

    @Test("a single event is delivered after its maximum wait")
    func interval() async throws {
        let provider = InMemoryProvider(batching: BatchPolicy(count: 10, interval: .seconds(5)))
        let client = try await client(provider)
        let session = client.session(for: Self.ada)
        try await session.track(.custom("one"))
        await time.waitForSleepers(1)
        #expect(time.untilNextWake == .seconds(5))
        time.advance(by: .seconds(5))
        try await eventually("a delivery") { !provider.delivered.isEmpty }
        #expect(provider.delivered == [.custom("one")])
    }

    @Test("an outage counts no attempt, and a vendor's requested wait is kept")
    func outage() async throws {
        let provider = InMemoryProvider(batching: BatchPolicy(count: 1, attempts: 1))
        provider.setVerdict { _ in .outage(after: .seconds(40)) }
        let client = try await client(provider)
        let session = client.session(for: Self.ada)
        try await session.track(.custom("one"))
        await time.waitForSleepers(1)
        #expect(time.untilNextWake == .seconds(40))
        for _ in 0..<20 {
            time.advance(by: .seconds(40))
            await time.waitForSleepers(1)
        }
        #expect(try await client.ledger() == Ledger(accepted: 1, pending: 1))
        provider.setVerdict { _ in .delivered }
        time.advance(by: .seconds(40))
        try await eventually("a delivery") { !provider.delivered.isEmpty }
        // The vendor receives the event slightly before it is settled.
        try await client.flush()
        #expect(try await client.ledger() == Ledger(accepted: 1, delivered: 1))
    }

    @Test("an event that makes its batch fail is found by halving, and the rest is delivered")
    func poison() async throws {
        let provider = InMemoryProvider(batching: BatchPolicy(count: 100, largest: 100, attempts: 1))
        let client = try await client(provider)
        let session = client.session(for: Self.ada)
        for number in 0..<64 { try await session.track(.custom("event \(number)")) }
        // Rejects every batch that contains the poison, as an all-or-nothing vendor does.
        let poison = PoisonedProvider(inner: provider, poison: "event 40")
        let store = ClientStore.inMemory()
        let other = try await ExperimentationClient(
            provider: poison,
            store: store,
            environment: ClientEnvironment(time: time)
        )
        let poisoned = other.session(for: Self.ada)
        for number in 0..<64 { try await poisoned.track(.custom("event \(number)")) }
        try await other.flush()
        let expected = (0..<64).filter { $0 != 40 }.map { TrackingEvent.custom("event \($0)") }
        #expect(provider.delivered == expected)
        #expect(try await other.ledger() == Ledger(accepted: 64, delivered: 63, dropped: [.exhausted: 1]))
        await client.shutdown()
    }

    @Test("an unsupported event is rejected, and the ledger is unchanged")
    func unsupported() async throws {
        let client = try await ExperimentationClient(provider: GatedProvider(source: GatedSource()))
        let session = client.session(for: Self.ada)
        await #expect(throws: ExperimentationError(.unsupported, "gated has no events.")) {
            try await session.track(.custom("one"))
        }
        #expect(try await client.ledger() == Ledger())
    }

    @Test(
        "an invalid event is rejected for any vendor",
        arguments: [
            TrackingEvent.custom(""), .custom("a", value: .nan), .custom("a", attributes: ["x": .double(.infinity)]),
            .screenView(""), .pageView(""), .goalCompleted(""), .sessionEnded(seconds: -1),
            TrackingEvent(.native(NativeEvent(type: "x", payload: ["y": .double(.nan)]))),
            .addToCart(line(0)), .removeFromCart(line(0)), .replaceCart([line(1), line(-1)]),
            .purchase(Order(lines: [line(1), line(0)])),
        ]
    )
    func invalid(event: TrackingEvent) async throws {
        let client = try await client(InMemoryProvider())
        let session = client.session(for: Self.ada)
        let error = await #expect(throws: ExperimentationError.self) { try await session.track(event) }
        #expect(error?.code == .invalidArgument)
        #expect(try await client.ledger() == Ledger())
    }

    private static func line(_ quantity: Int) -> LineItem {
        LineItem(item: CatalogItem(id: "mug"), quantity: quantity)
    }

    @Test("P56 a value nested ten thousand times is rejected")
    func deep() async throws {
        var value: FlagValue = 1
        for _ in 0..<10_000 { value = [value] }
        let client = try await client(InMemoryProvider())
        let session = client.session(for: Self.ada)
        let error = await #expect(throws: ExperimentationError.self) {
            try await session.track(.custom("a", attributes: ["deep": value]))
        }
        #expect(error?.code == .invalidArgument)
        #expect(throws: ExperimentationError.self) { try session.update(["deep": value]) }
    }

    @Test("unknown consent holds, granted consent sends with the original times, denied consent purges and rejects")
    func consent() async throws {
        let provider = InMemoryProvider(batching: BatchPolicy(count: 1))
        let client = try await client(provider)
        let session = client.session(for: User(id: "ada"))
        let start = time.now
        try await session.track(.custom("held"))
        try await client.flush()
        #expect(provider.delivered.isEmpty)
        time.advance(by: .seconds(9))
        try await session.setConsent(.granted)
        try await client.flush()
        #expect(provider.delivered == [.custom("held"), TrackingEvent(.consentChanged(granted: true))])
        #expect(provider.record.delivered[0].date == start)

        await client.setConnectivity(.offline)
        try await session.track(.custom("waiting"))
        try await session.setConsent(.denied)
        let error = await #expect(throws: ExperimentationError.self) { try await session.track(.custom("late")) }
        #expect(error?.code == .consentDenied)
        await client.setConnectivity(.online)
        try await client.flush()
        #expect(provider.delivered.last == TrackingEvent(.consentChanged(granted: false)))
        #expect(provider.delivered.count == 3)
        let ledger = try await client.ledger()
        #expect(ledger == Ledger(accepted: 4, delivered: 3, purged: 1))
        #expect(ledger.isBalanced)
    }

    @Test("changed attributes are sent with the next event, once")
    func attributes() async throws {
        let provider = InMemoryProvider()
        let client = try await client(provider)
        let session = client.session(for: User(id: "ada", attributes: ["plan": "free"], consent: .granted))
        try await session.track(.custom("one"))
        try session.update(["plan": "pro", "age": 41])
        try session.update(["age": nil])
        try await session.track(.custom("two"))
        try await session.track(.custom("three"))
        try await client.flush()
        #expect(
            provider.record.delivered.map(\.attributeChanges) == [["plan": "free"], ["plan": "pro", "age": nil], [:]]
        )
    }

    @Test("changed attributes wait beyond a native event that carries none", arguments: [true, false])
    func attributesBeyondNative(soon: Bool) async throws {
        let provider = InMemoryProvider()
        let client = try await client(provider)
        let session = client.session(for: User(id: "ada", attributes: ["plan": "free"], consent: .granted))
        let ping = TrackingEvent(.native(NativeEvent(type: "ping", carriesAttributeChanges: false)))
        if soon { try session.trackSoon(ping) } else { try await session.track(ping) }
        try await session.track(TrackingEvent(.native(NativeEvent(type: "x"))))
        try await session.track(ping)
        try await client.flush()
        #expect(provider.record.delivered.map(\.attributeChanges) == [[:], ["plan": "free"], [:]])
    }

    @Test("changed attributes aren't sent with events about campaigns and notifications, but with the next other one")
    func attributesBeyondStatistics() async throws {
        let provider = InMemoryProvider()
        let client = try await client(provider)
        let session = client.session(for: User(id: "ada", attributes: ["plan": "free"], consent: .granted))
        let campaign = Campaign(id: "c", target: "hero", experience: Variation(id: "x"))
        try await session.track(.campaignImpression(campaign))
        try await session.track(.campaignClick(campaign))
        try await session.track(.campaignDismissal(campaign))
        try await session.track(.notificationOpened(NotificationContent(message: "Hi")))
        try await session.track(.custom("two"))
        try await client.flush()
        #expect(provider.record.delivered.map(\.attributeChanges) == [[:], [:], [:], [:], ["plan": "free"]])
    }

    @Test("without a session, a user's attributes go with each event except a native one that carries none")
    func attributesWithoutSession() async throws {
        let provider = InMemoryProvider()
        let client = try await client(provider)
        let user = User(id: "ada", attributes: ["plan": "free"], consent: .granted)
        let campaign = Campaign(id: "c", target: "hero", experience: Variation(id: "x"))
        try await client.track(.campaignImpression(campaign), for: user)
        for carries in [false, true] {
            let native = NativeEvent(type: "x", carriesAttributeChanges: carries)
            try await client.track(TrackingEvent(.native(native)), for: user)
        }
        try await client.flush()
        #expect(provider.record.delivered.map(\.attributeChanges) == [["plan": "free"], [:], ["plan": "free"]])
    }

    @Test("attributes from before and during a denial are sent once the user consents again, and not with its signal")
    func attributesAfterDenial() async throws {
        let provider = InMemoryProvider()
        let client = try await client(provider)
        await client.setConnectivity(.offline)
        let session = client.session(for: User(id: "ada", attributes: ["plan": "free"], consent: .granted))
        try await session.track(.custom("one"))
        try await session.setConsent(.denied)
        try session.update(["age": 41])
        try await session.setConsent(.granted)
        try await session.track(.custom("two"))
        await client.setConnectivity(.online)
        try await client.flush()
        #expect(
            provider.delivered == [
                TrackingEvent(.consentChanged(granted: false)), TrackingEvent(.consentChanged(granted: true)),
                .custom("two"),
            ]
        )
        #expect(provider.record.delivered.map(\.attributeChanges) == [[:], ["plan": "free", "age": 41], [:]])
    }

    @Test("an attribute that was removed before a denial is removed at the vendor once the user consents again")
    func removalAfterDenial() async throws {
        let provider = InMemoryProvider()
        let client = try await client(provider)
        let attributes: Attributes = ["plan": "free", "age": 41]
        let session = client.session(for: User(id: "ada", attributes: attributes, consent: .granted))
        try await session.track(.custom("one"))
        try await client.flush()
        try session.update(["age": nil, "plan": "pro"])
        try await session.setConsent(.denied)
        try session.update(["plan": "max"])
        try await session.setConsent(.granted)
        try await session.track(.custom("two"))
        try await client.flush()
        #expect(
            provider.record.delivered.map(\.attributeChanges) == [
                attributes, [:], ["plan": "max", "age": nil], [:],
            ]
        )
    }

    @Test("flush and shutdown end by their deadline even if the vendor never answers")
    func deadline() async throws {
        let sink = HungProvider()
        let client = try await ExperimentationClient(provider: sink, environment: ClientEnvironment(time: time))
        let session = client.session(for: Self.ada)
        try await session.track(.custom("one"))
        async let flushed = client.flush(within: .seconds(3)).isDone
        await time.waitForSleepers(1)
        try await eventually("the wait of the flush") { (time.untilNextWake ?? .zero) <= .seconds(3) }
        time.advance(by: .seconds(3))
        #expect(try await flushed == false)
        #expect(try await client.ledger() == Ledger(accepted: 1, pending: 1))
        await sink.release()
    }

    @Test("campaigns go to the handler of their target, on the main actor, or wait for it")
    @MainActor
    func campaigns() async throws {
        let provider = InMemoryProvider(batching: BatchPolicy(count: 1))
        let hero = Campaign(id: "c", target: "hero", experience: Variation(id: "x"), content: ["title": "Hi"])
        provider.setCampaigns { _ in [hero] }
        let client = try await client(provider)
        let session = client.session(for: Self.ada)
        try await session.track(.custom("one"))
        try await client.flush()
        #expect(session.heldCampaigns() == [hero])
        let campaign = try await withCheckedThrowingContinuation { continuation in
            do {
                try session.setCampaignHandler(forTarget: "hero") { continuation.resume(returning: $0) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
        #expect(campaign == hero)
        #expect(session.heldCampaigns() == [])
    }
}

/// Rejects every batch that contains one particular event.
struct PoisonedProvider: ExperimentationProvider, EventSink {
    let inner: InMemoryProvider
    let poison: String
    var name: String { "poisoned" }
    var scope: String { "" }
    var capabilities: Set<Capability> { [.tracking] }
    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(events: self)
    }
    var batching: BatchPolicy { BatchPolicy(count: 1_000, largest: 100, attempts: 1) }
    func check(_ event: TrackingEvent) throws(ExperimentationError) {}
    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        if batch.contains(where: { $0.event == .custom(poison) }) {
            return DeliveryReport(.failed("400"))
        }
        guard let sink = inner.roles.events else { return DeliveryReport(noAnswerTo: batch.count) }
        return await sink.deliver(batch)
    }
}

/// Never answers until it is released.
actor HungSink {
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var isReleased = false
    func hang() async {
        if isReleased { return }
        await withCheckedContinuation { waiting.append($0) }
    }
    func release() {
        isReleased = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}

struct HungProvider: ExperimentationProvider, EventSink {
    let sink = HungSink()
    var name: String { "hung" }
    var scope: String { "" }
    var capabilities: Set<Capability> { [.tracking] }
    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(events: self)
    }
    var batching: BatchPolicy { BatchPolicy() }
    func check(_ event: TrackingEvent) throws(ExperimentationError) {}
    func release() async { await sink.release() }
    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        await sink.hang()
        return DeliveryReport(.delivered)
    }
}
