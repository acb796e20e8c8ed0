import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import Logging
import MetricsTestKit
import Synchronization
import Testing
import Waiting

@testable import ExperimentationTelemetry

@Suite("Counters of followed clients")
struct LastIntervalTests {
    private func total(_ metrics: TestMetrics, _ name: String, _ provider: InMemoryProvider) -> Int64 {
        let place = ("destination", provider.destination.description)
        return metrics.counterTotal(label: "experimentation.outbox.\(name)", dimensions: [place])
    }

    private func client(
        _ telemetry: Telemetry,
        _ provider: InMemoryProvider = shop(),
        store: ClientStore = .inMemory()
    ) async throws -> ExperimentationClient {
        try await ExperimentationClient(
            provider: provider,
            store: store,
            options: telemetry.added(to: ClientOptions()),
            environment: telemetry.added(to: ClientEnvironment())
        )
    }

    /// Follows a client until it has been measured once.
    private func follow(_ client: ExperimentationClient, _ telemetry: Telemetry, _ metrics: TestMetrics) async throws
        -> Task<Void, Never>
    {
        let following = Task { await telemetry.follow(client) }
        try await eventually("the client has been measured") {
            !metrics.recorders(label: "experimentation.outbox.pending").isEmpty
        }
        return following
    }

    private let user = User(id: "u-1", consent: .granted)

    @Test("events since the last measurement are counted by the documented end: cancel, shut down, flush")
    func end() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        let provider = shop()
        provider.setVerdict { envelope in
            if case .custom("bad", _) = envelope.event.kind { .rejected("no") } else { .delivered }
        }
        let client = try await client(telemetry, provider)
        // So that the destination has a ledger to be measured.
        try await client.track(.custom("earlier"), for: user)
        let following = try await follow(client, telemetry, metrics)
        for name in ["a", "bad", "b"] { try await client.track(.custom(name), for: user) }
        following.cancel()
        await client.shutdown()
        #expect(await telemetry.flush(within: .seconds(60)))
        #expect(total(metrics, "accepted", provider) == 3)
        #expect([3, 2].contains(total(metrics, "delivered", provider)))
        #expect(metrics.counterTotal(label: "experimentation.outbox.dropped") == 1)
        // Another client counts nothing twice.
        #expect(await telemetry.flush(within: .seconds(60)))
        #expect(total(metrics, "accepted", provider) == 3)
    }

    @Test("telemetry keeps no client alive")
    func released() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        weak var gone: ExperimentationClient?
        do {
            let client = try await client(telemetry)
            gone = client
            try await client.track(.custom("a"), for: user)
            let following = try await follow(client, telemetry, metrics)
            following.cancel()
            await following.value
            await client.shutdown()
        }
        #expect(await telemetry.flush(within: .seconds(60)))
        try await eventually("the client is gone") { gone == nil }
    }

    @Test("a store that hangs holds up a flush no longer than allowed")
    func hangingStore() async throws {
        let metrics = TestMetrics()
        let time = ManualTime()
        let telemetry = Telemetry(metrics: metrics, time: time)
        let memory = ClientStore.inMemory()
        let outbox = HangingOutbox(base: memory.outbox)
        let client = try await client(telemetry, store: ClientStore(outbox: outbox, state: memory.state))
        try await client.track(.custom("a"), for: user)
        let following = try await follow(client, telemetry, metrics)
        following.cancel()
        await following.value
        outbox.hang()
        // Followed after the one whose store hangs.
        let provider = InMemoryProvider(name: "healthy", needsConsent: false)
        let healthy = try await self.client(telemetry, provider)
        try await healthy.track(.custom("earlier"), for: user)
        let place = [("destination", provider.destination.description)]
        let followingHealthy = Task { await telemetry.follow(healthy) }
        try await eventually("the other client has been measured") {
            !metrics.recorders(label: "experimentation.outbox.pending", dimensions: place).isEmpty
        }
        followingHealthy.cancel()
        await followingHealthy.value
        try await healthy.track(.custom("a"), for: user)
        _ = client.bool("checkout", default: false, for: user)
        let flushing = Task { await telemetry.flush(within: .seconds(5)) }
        try await eventually("the store is asked") { outbox.gate.waiting == 1 }
        try await eventually("what needs no store is counted all the same") {
            metrics.counterTotal(label: "feature_flag.evaluations") == 1
        }
        try await eventually("another client's events are counted all the same") {
            total(metrics, "accepted", provider) == 1
        }
        await time.waitForSleepers(1)
        time.advance(by: .seconds(5))
        #expect(await flushing.value == false)
        outbox.gate.open()
        await client.shutdown()
        await healthy.shutdown()
    }

    @Test("no caller keeps waiting behind a store that hangs, and following ends with the store's answer")
    func cancelled() async throws {
        let metrics = TestMetrics()
        let time = ManualTime()
        let options = TelemetryOptions()
        let telemetry = Telemetry(metrics: metrics, options: options, time: time)
        let memory = ClientStore.inMemory()
        let outbox = HangingOutbox(base: memory.outbox)
        defer { outbox.gate.open() }
        let client = try await client(telemetry, store: ClientStore(outbox: outbox, state: memory.state))
        try await client.track(.custom("a"), for: user)
        let following = try await follow(client, telemetry, metrics)
        await time.waitForSleepers(1)
        outbox.hang()
        time.advance(by: options.interval)
        try await eventually("the store is asked") { outbox.gate.waiting == 1 }
        let flushing = Task { await telemetry.flush(within: .seconds(5)) }
        let turns = telemetry.meters?.stores.find(client.ledgersOwner).store.turns
        try await eventually("the flush waits for its turn") { turns?.waiting == 1 }
        await time.waitForSleepers(1)
        time.advance(by: .seconds(5))
        #expect(await flushing.value == false)
        try await eventually("the flush is no longer in line") { turns?.waiting == 0 }
        following.cancel()
        #expect(outbox.gate.waiting == 1)
        outbox.gate.open()
        await following.value
        await client.shutdown()
    }

    @Test("a measurement of a slow store that ends after a later one counts nothing twice")
    func order() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        let provider = shop()
        let memory = ClientStore.inMemory()
        let outbox = LateOutbox(base: memory.outbox)
        let client = try await client(telemetry, provider, store: ClientStore(outbox: outbox, state: memory.state))
        try await client.track(.custom("a"), for: user)
        outbox.hold()
        let first = Task { await telemetry.measure(client) }
        try await eventually("the first measurement has read the ledger") { outbox.gate.waiting == 1 }
        try await client.track(.custom("b"), for: user)
        let second = Task { await telemetry.measure(client) }
        try await eventually("the second measurement waits for the first one") {
            telemetry.meters?.stores.find(client.ledgersOwner).store.turns.waiting == 1
        }
        outbox.gate.open()
        await first.value
        await second.value
        await telemetry.measure(client)
        await telemetry.flush(within: .seconds(60))
        #expect(total(metrics, "accepted", provider) == 2)
        await client.shutdown()
    }

    @Test("two clients with destinations of one name are counted separately")
    func twoStores() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        let provider = shop()
        let clients = [try await client(telemetry, provider), try await client(telemetry, shop())]
        for (client, count) in zip(clients, [5, 3]) {
            for _ in 0..<count { try await client.track(.custom("a"), for: user) }
        }
        for _ in 0..<3 { for client in clients { await telemetry.measure(client) } }
        await telemetry.flush(within: .seconds(60))
        #expect(total(metrics, "accepted", provider) == 8)
        let place = [("destination", provider.destination.description)]
        let pending = metrics.recorders(label: "experimentation.outbox.pending", dimensions: place)
        #expect(pending.last?.lastValue == 8)
        for client in clients { await client.shutdown() }
    }

    @Test("clients that share a store are counted once")
    func oneStore() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        let store = ClientStore.inMemory()
        let provider = shop()
        let clients = [
            try await client(telemetry, provider, store: store),
            try await client(telemetry, InMemoryProvider(name: "other", needsConsent: false), store: store),
        ]
        for client in clients { try await client.track(.custom("a"), for: user) }
        for _ in 0..<3 { for client in clients { await telemetry.measure(client) } }
        await telemetry.flush(within: .seconds(60))
        #expect(total(metrics, "accepted", provider) == 1)
        #expect(metrics.counterTotal(label: "experimentation.outbox.accepted") == 2)
        for client in clients { await client.shutdown() }
    }

    @Test("clients that open one file are counted once, and not again when it is reopened")
    func oneFile() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("events.sqlite")
        let provider = shop()
        do {
            let one = try await client(telemetry, shop(), store: .sqlite(at: file))
            // The same folder by another name.
            let link = folder.appendingPathComponent("link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder)
            let other = try await client(
                telemetry,
                shop(),
                store: .sqlite(at: link.appendingPathComponent("events.sqlite"))
            )
            for client in [one, other] { try await client.track(.custom("a"), for: user) }
            for _ in 0..<3 { for client in [one, other] { await telemetry.measure(client) } }
            #expect(await telemetry.flush(within: .seconds(60)))
            #expect(total(metrics, "accepted", provider) == 2)
            for client in [one, other] { await client.shutdown() }
        }
        let again = try await client(telemetry, provider, store: .sqlite(at: file))
        await telemetry.measure(again)
        #expect(await telemetry.flush(within: .seconds(60)))
        #expect(total(metrics, "accepted", provider) == 2)
        await again.shutdown()
    }

    @Test("a file that is deleted and created again under its name is counted from zero")
    func newFile() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("events.sqlite")
        let provider = shop()
        for count in [5, 3] {
            weak var gone: (any AnyObject & Sendable)?
            do {
                let client = try await client(telemetry, provider, store: .sqlite(at: file))
                gone = client.ledgersOwner.object
                for _ in 0..<count { try await client.track(.custom("a"), for: user) }
                await telemetry.measure(client)
                #expect(await telemetry.flush(within: .seconds(60)))
                await client.shutdown()
            }
            try await eventually("the file is closed") { gone == nil }
            try FileManager.default.removeItem(at: folder)
        }
        #expect(total(metrics, "accepted", provider) == 8)
    }

    @Test("a store in wrappers that are values counts as the store inside")
    func wrapped() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        let store = ClientStore.inMemory()
        let provider = shop()
        var clients: [ExperimentationClient] = []
        for _ in 0..<2 {
            let wrapped = ClientStore(outbox: Wrapped(base: Wrapped(base: store.outbox)), state: store.state)
            clients.append(try await client(telemetry, shop(), store: wrapped))
        }
        for client in clients { try await client.track(.custom("a"), for: user) }
        for _ in 0..<3 { for client in clients { await telemetry.measure(client) } }
        #expect(await telemetry.flush(within: .seconds(60)))
        #expect(total(metrics, "accepted", provider) == 2)
        for client in clients { await client.shutdown() }
    }

    @Test("a log that blocks loses no timer, no gauge and no counter")
    func blockedLog() async throws {
        let metrics = TestMetrics()
        let gate = Gate()
        let telemetry = Telemetry(
            logger: Kept(gate: gate).logger(.info),
            metrics: metrics,
            options: TelemetryOptions(waitingLimit: 4)
        )
        let provider = shop()
        let client = try await client(telemetry, provider)
        _ = client.bool("checkout", default: false, for: user)
        try await eventually("the log holds the first event") { gate.comers == 1 }
        for _ in 0..<20 { _ = client.bool("checkout", default: false, for: user) }
        for _ in 0..<9 { try await client.refresh(force: true) }
        try await client.track(.custom("a"), for: user)
        await telemetry.measure(client)
        try await eventually("everything is measured while the log blocks") {
            let timers = metrics.timers(label: "experimentation.refresh.duration").flatMap(\.values)
            return timers.count >= 9 && total(metrics, "accepted", provider) == 1
                && metrics.recorders(label: "experimentation.refresh.age").count == 1
        }
        gate.open()
        #expect(await telemetry.flush(within: .seconds(60)))
        #expect(metrics.counterTotal(label: "experimentation.telemetry.dropped") > 0)
        await client.shutdown()
    }
}

/// An outbox that doesn't answer questions, cancelled or not, for its destinations while it hangs.
private final class HangingOutbox: OutboxStoreDecorator {
    let base: any OutboxStore
    let gate = AsyncGate()
    private let hanging = Atomic(false)

    init(base: any OutboxStore) { self.base = base }

    func hang() { hanging.store(true, ordering: .relaxed) }

    func destinations() async throws(ExperimentationError) -> [Destination] {
        // In a task of its own: a store carries out the operations of a cancelled task.
        if hanging.load(ordering: .relaxed) { await Task { _ = await gate.wait() }.value }
        return try await base.destinations()
    }
}

/// An outbox that, on request, reads the next ledger at once and returns it late.
private final class LateOutbox: OutboxStoreDecorator {
    let base: any OutboxStore
    let gate = AsyncGate()
    private let holding = Atomic(false)

    init(base: any OutboxStore) { self.base = base }

    func hold() { holding.store(true, ordering: .relaxed) }

    func ledger(of destination: Destination?) async throws(ExperimentationError) -> Ledger {
        let isHeld = holding.exchange(false, ordering: .relaxed)
        let ledger = try await base.ledger(of: destination)
        if isHeld { await gate.wait() }
        return ledger
    }
}

private struct Wrapped: OutboxStoreDecorator { let base: any OutboxStore }
