import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import MetricsTestKit
import Synchronization
import Testing

@testable import ExperimentationTelemetry

@Suite("Growth of ledgers")
struct LedgerGrowthTests {
    private let metrics = TestMetrics()

    private func total(_ name: String = "accepted") -> Int64 {
        metrics.counterTotal(label: "experimentation.outbox.\(name)")
    }

    private func pending(_ destination: Destination) -> Double? {
        let place = [("destination", destination.description)]
        return metrics.recorders(label: "experimentation.outbox.pending", dimensions: place).last?.lastValue
    }

    @Test(
        "contents whose ledger has shrunk count again only once they have passed what was counted",
        arguments: [
            ([10, 9], 10), ([10, 9, 10], 10), ([10, 9, 12], 12), ([0, 3, 0, 3, 0, 4], 4),
        ] as [([Int], Int64)]
    )
    func shrunk(accepted: [Int], expected: Int64) {
        let meters = Meters(metrics)
        let object = MeasuredObject()
        for count in accepted {
            let ledger = Ledger(accepted: count, delivered: count, purged: count, dropped: [.overflow: count])
            meters.record([shop().destination: ledger], of: object, in: object.own, among: [object], isFirst: false)
        }
        for name in ["accepted", "delivered", "purged", "dropped"] { #expect(total(name) == expected, "\(name)") }
    }

    @Test("a destination that a ledger no longer names has nothing waiting")
    func gone() {
        let meters = Meters(metrics)
        let object = MeasuredObject()
        let destinations = ["a", "b"].map { Destination(provider: $0, scope: "") }
        for named in [destinations, [destinations[1]]] {
            let ledgers = Dictionary(uniqueKeysWithValues: named.map { ($0, Ledger(accepted: 4, pending: 4)) })
            meters.record(ledgers, of: object, in: object.own, among: [object], isFirst: false)
        }
        #expect(destinations.map { pending($0) } == [0, 4])
        #expect(total() == 8)
    }

    @Test("a destination that is new since a store's last measurement has grown from zero, even in other contents")
    func newInOtherContents() {
        let meters = Meters(metrics)
        let object = MeasuredObject()
        let destinations = ["a", "b"].map { Destination(provider: $0, scope: "") }
        let former = [destinations[0]: Ledger(accepted: 4)]
        meters.record(former, of: object, in: object.own, among: [object], isFirst: false)
        let ledgers = [destinations[0]: Ledger(accepted: 4), destinations[1]: Ledger(accepted: 3)]
        meters.record(ledgers, of: object, in: MeasuredStore(), among: [object], isFirst: true)
        #expect(total() == 7)
    }

    /// A store whose contents and their identity a test chooses.
    private final class Scripted: OutboxStoreDecorator {
        let base: any OutboxStore = ClientStore.inMemory().outbox
        /// Without a number its ledgers can't be read.
        let now = Mutex<(id: String, accepted: Int?)>(("", nil))

        var contentsID: String? { now.withLock { $0.id } }
        func destinations() async throws(ExperimentationError) -> [Destination] { [shop().destination] }
        func ledger(of destination: Destination?) async throws(ExperimentationError) -> Ledger {
            guard let accepted = now.withLock({ $0.accepted }) else { throw ExperimentationError(.store, "closed") }
            return Ledger(accepted: accepted)
        }
    }

    @Test(
        "a store that continues in other contents takes its own along; a newly opened store doesn't",
        arguments: [
            ([(0, "s", 5), (0, "t", 8)], 8), ([(0, "s", 5), (1, "t", 3)], 8), ([(0, "s", 5), (1, "s", 3)], 5),
            ([(0, "t", 3), (0, "s", 5), (0, "t", 9)], 9), ([(1, "t", 3), (0, "s", 5), (0, "t", 8)], 8),
        ] as [([(store: Int, id: String, accepted: Int?)], Int64)]
    )
    func taken(measurements: [(store: Int, id: String, accepted: Int?)], expected: Int64) async throws {
        try await expectGrowth(expected, measuring: measurements)
    }

    @Test(
        "a store whose ledgers can't be read takes nothing along, whatever identity it reports for its contents",
        arguments: [
            ([(0, "s", 5), (0, "t", nil), (1, "s", 5)], 5), ([(0, "s", 5), (0, "t", nil), (0, "s", 5)], 5),
            ([(0, "s", 5), (0, "t", nil), (1, "t", 3), (0, "s", 6)], 9),
            ([(0, "s", 5), (0, "t", nil), (0, "u", nil), (0, "u", 8)], 8),
        ] as [([(store: Int, id: String, accepted: Int?)], Int64)]
    )
    func unreadable(measurements: [(store: Int, id: String, accepted: Int?)], expected: Int64) async throws {
        try await expectGrowth(expected, measuring: measurements)
    }

    /// Measures stores, each time with a new client.
    private func expectGrowth(
        _ expected: Int64,
        measuring measurements: [(store: Int, id: String, accepted: Int?)]
    ) async throws {
        let telemetry = Telemetry(metrics: metrics)
        let stores = [Scripted(), Scripted()]
        var clients: [ExperimentationClient] = []
        for (index, id, accepted) in measurements {
            let store = stores[index]
            store.now.withLock { $0 = (id, accepted) }
            let state = ClientStore.inMemory().state
            clients.append(
                try await ExperimentationClient(provider: shop(), store: ClientStore(outbox: store, state: state))
            )
            await telemetry.measure(try #require(clients.last))
        }
        #expect(await telemetry.flush(within: .seconds(60)))
        #expect(total() == expected)
        for client in clients { await client.shutdown() }
    }

    @Test("a flush that couldn't measure a store says so, and a later one makes up for it")
    func unmeasured() async throws {
        let telemetry = Telemetry(metrics: metrics)
        let store = Scripted()
        store.now.withLock { $0 = ("s", 5) }
        let client = try await ExperimentationClient(
            provider: shop(),
            store: ClientStore(outbox: store, state: ClientStore.inMemory().state)
        )
        await telemetry.startCounting(client)
        store.now.withLock { $0 = ("s", nil) }
        #expect(await !telemetry.flush(within: .seconds(60)))
        store.now.withLock { $0 = ("s", 8) }
        #expect(await telemetry.flush(within: .seconds(60)))
        #expect(total() == 3)
        await client.shutdown()
    }

    @Test("events missed by a closed file's last measurement are counted when another client opens the file")
    func closedFile() async throws {
        let telemetry = Telemetry(metrics: metrics)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let user = User(id: "u-1", consent: .granted)
        for _ in 0..<2 {
            let store = try SQLiteStore(at: folder.appendingPathComponent("events.sqlite"))
            let client = try await ExperimentationClient(
                provider: shop(),
                store: ClientStore(outbox: store, state: ClientStore.inMemory().state)
            )
            try await client.track(.custom("earlier"), for: user)
            await telemetry.startCounting(client)
            for _ in 0..<2 { try await client.track(.custom("a"), for: user) }
            await client.shutdown()
            await store.close()
            #expect(await !telemetry.flush(within: .seconds(60)))
        }
        #expect(total() == 3)
    }

    /// A store that writes only what is tracked: a delivery would notice that the file is gone.
    private struct Undelivered: OutboxStoreDecorator {
        let base: any OutboxStore

        func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
            throw ExperimentationError(.store, "Nothing is delivered.")
        }
    }

    @Test("a client that still has a deleted file open is kept apart from those of the new file, until it joins them")
    func deletedFile() async throws {
        let telemetry = Telemetry(metrics: metrics)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("events.sqlite")
        let user = User(id: "u-1", consent: .granted)
        func opened(events: Int) async throws -> ExperimentationClient {
            let store = Undelivered(base: try SQLiteStore(at: file))
            let client = try await ExperimentationClient(
                provider: shop(),
                store: ClientStore(outbox: store, state: ClientStore.inMemory().state)
            )
            for _ in 0..<events { try await client.track(.custom("a"), for: user) }
            return client
        }
        func measured(_ clients: ExperimentationClient...) async {
            for client in clients { await telemetry.measure(client) }
            #expect(await telemetry.flush(within: .seconds(60)))
        }
        let old = try await opened(events: 5)
        await old.shutdown()
        let idle = try await opened(events: 0)
        await measured(idle)
        try FileManager.default.removeItem(at: folder)
        let new = try await opened(events: 3)
        await measured(new, idle, new)
        #expect(total() == 8)
        #expect(pending(shop().destination) == 8)
        try await idle.track(.custom("a"), for: user)
        await measured(idle, new)
        #expect(total() == 9)
        #expect(pending(shop().destination) == 9)
        for client in [idle, new] { await client.shutdown() }
    }
}
