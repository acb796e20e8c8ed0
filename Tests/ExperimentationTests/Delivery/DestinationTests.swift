import ExperimentationTesting
import Foundation
import Testing
import Waiting

@testable import Experimentation

/// A vendor with further destinations.
private struct Several: ExperimentationProvider {
    let first: ScriptedVendor
    let others: [ScriptedVendor]

    var name: String { first.name }
    var scope: String { first.scope }
    var capabilities: Set<Capability> { [.tracking] }
    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await first.start(in: context)
        roles.furtherRoutes = others.map { EventRoute(to: $0.destination, by: $0, needsConsent: $0.needsConsent) }
        return roles
    }

    func client(store: ClientStore, time: ManualTime, dice: Dice) async throws -> ExperimentationClient {
        try await ExperimentationClient(
            provider: self,
            store: store,
            environment: ClientEnvironment(time: time, jitter: { dice.fraction() })
        )
    }
}

@Suite("Destinations are independent")
struct DestinationTests {
    private let time = ManualTime()

    private func vendors(_ count: Int, needsConsent: Set<Int> = []) -> [ScriptedVendor] {
        (0..<count).map { number in
            ScriptedVendor(
                scope: "\(number)",
                batching: BatchPolicy(count: 1_000, largest: 5, interval: .seconds(3_600)),
                needsConsent: needsConsent.contains(number)
            )
        }
    }

    @Test("one accepted event has a delivery for each destination with the same id and time")
    func once() async throws {
        let vendors = vendors(3)
        let provider = Several(first: vendors[0], others: Array(vendors[1...]))
        let client = try await provider.client(store: .inMemory(), time: time, dice: Dice(1))
        let session = client.session(for: User(id: "ada"))
        for number in 0..<7 { try await session.track(.numbered(number)) }
        #expect(try await client.flush(retrying: false).isDone)
        let received = vendors.map { $0.record.received.map { [$0.id, "\($0.date.timeIntervalSince1970)"] } }
        #expect(received[0].count == 7 && received[1] == received[0] && received[2] == received[0])
        let each = Ledger(accepted: 7, delivered: 7)
        #expect(try await client.ledgers() == Dictionary(uniqueKeysWithValues: vendors.map { ($0.destination, each) }))
        try await client.expectBalance(Ledger(accepted: 21, delivered: 21))
    }

    @Test("one destination's rejection, outage or consent doesn't affect another")
    func apart() async throws {
        let vendors = vendors(3, needsConsent: [2])
        vendors[1].answer { _ in DeliveryReport(.stop(ExperimentationError(.unauthorized, "no"))) }
        let provider = Several(first: vendors[0], others: Array(vendors[1...]))
        let client = try await provider.client(store: .inMemory(), time: time, dice: Dice(1))
        let session = client.session(for: User(id: "ada"))
        for number in 0..<3 { try await session.track(.numbered(number)) }
        #expect(try await !client.flush(retrying: false).isDone)
        #expect(vendors.map { $0.record.received.compactMap(\.event.number) } == [[0, 1, 2], [], []])
        let ledgers = try await client.ledgers()
        #expect(
            vendors.map { ledgers[$0.destination] }
                == [
                    Ledger(accepted: 3, delivered: 3), Ledger(accepted: 3, pending: 3), Ledger(accepted: 3, pending: 3),
                ]
        )
        try await session.setConsent(.granted)
        try await client.flush(retrying: false)
        #expect(vendors[2].record.received.compactMap(\.event.number) == [0, 1, 2])
        try await session.setConsent(.denied)
        #expect(try await client.ledgers()[vendors[1].destination]?.purged == 3)
    }

    @Test("consent stated with an event releases events held for a destination that doesn't accept the event itself")
    func releasedElsewhere() async throws {
        let other = ScriptedVendor(
            scope: "other",
            batching: BatchPolicy(count: 1, interval: .seconds(3_600)),
            needsConsent: true,
            takes: { $0.number != 2 }
        )
        let provider = Several(first: vendors(1)[0], others: [other])
        let client = try await provider.client(store: .inMemory(), time: time, dice: Dice(1))
        try await client.session(for: User(id: "ada")).track(.numbered(1))
        #expect(try await client.outboxStatus().held == 1)
        try await client.track(.numbered(2), for: User(id: "ada", consent: .granted))
        try await eventually("the held event is delivered") {
            other.record.received.compactMap(\.event.number) == [1]
        }
    }

    @Test("a provider with two routes to one destination is refused at the start", arguments: [0, 1])
    func twice(repeated: Int) async throws {
        let vendors = vendors(2)
        let provider = Several(first: vendors[0], others: [vendors[1], vendors[repeated]])
        let error = await #expect(throws: ExperimentationError.self) {
            try await provider.client(store: .inMemory(), time: time, dice: Dice(1))
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("two routes for events to \(vendors[repeated].destination)") == true)
    }

    @Test("events of one vendor are never sent to another one that opens the same store")
    func neverElsewhere() async throws {
        let store = ClientStore.inMemory()
        let old = ScriptedVendor(scope: "old") { _ in DeliveryReport(.outage()) }
        let first = try await old.client(store: store, time: time)
        try await first.session(for: User(id: "ada")).track(.numbered(1))
        await first.shutdown()
        let new = ScriptedVendor(scope: "new")
        let client = try await new.client(store: store, time: time)
        try await client.session(for: User(id: "ada")).track(.numbered(2))
        #expect(try await client.flush(retrying: false).isDone)
        #expect(new.record.received.compactMap(\.event.number) == [2])
        #expect(try await client.ledgers()[old.destination] == Ledger(accepted: 1, pending: 1))
        #expect(try await client.drop(owedTo: old.destination) == 1)
        #expect(try await client.ledgers()[old.destination] == Ledger(accepted: 1, dropped: [.closed: 1]))
    }

    @Test(
        "P75 over faults and kills each destination gets every event, in order, and its ledger balances",
        arguments: [2, 3],
        0..<(isSoak ? 200 : 20)
    )
    func faults(count: Int, seed: Int) async throws {
        let dice = Dice(seed)
        let vendors = vendors(count)
        for vendor in vendors {
            vendor.answer { batch in
                switch dice.below(6) {
                case 0: return DeliveryReport(.outage())
                case 1: return DeliveryReport(.outage(after: .seconds(dice.below(20))))
                case 2: return DeliveryReport(batch.indices.map { $0 < batch.count / 2 ? .delivered : nil })
                case 3 where batch.count > 1: return DeliveryReport(.split("413"))
                default: return DeliveryReport(.delivered)
                }
            }
        }
        let provider = Several(first: vendors[0], others: Array(vendors[1...]))
        let beneath = ClientStore.inMemory()
        var accepted = 0
        for _ in 0..<4 {
            // From some operation on, nothing reaches the store, as if the process was killed.
            let store = MortalStore(beneath, operations: 20 + dice.below(60))
            let client = try await provider.client(
                store: ClientStore(outbox: store, state: store),
                time: time,
                dice: dice
            )
            for number in 0..<20 {
                let session = client.session(for: User(id: "u\(number % 3)"))
                if (try? await session.track(.numbered(accepted))) != nil { accepted += 1 }
                if dice.below(5) == 0 { _ = try? await client.flush(retrying: false) }
                if dice.below(5) == 0 { time.advance(by: .seconds(30)) }
            }
            await client.shutdown(within: .zero)
            // A killed process's lease expires.
            time.advance(by: .seconds(150))
        }
        for vendor in vendors { vendor.answer { _ in DeliveryReport(.delivered) } }
        let last = try await provider.client(store: beneath, time: time, dice: dice)
        try await last.drain(time)
        for vendor in vendors {
            let ledger = try #require(try await last.ledgers()[vendor.destination])
            #expect(ledger == Ledger(accepted: accepted, delivered: accepted), "\(vendor.destination)")
            let received = vendor.record.received
            #expect(Set(received.compactMap(\.event.number)) == Set(0..<accepted))
            // Each id has one content; repetitions have the same id.
            #expect(Set(received.map(\.id)).count == accepted)
            // Apart from repetitions, each user's events arrived in order.
            var seen: Set<String> = []
            for user in 0..<3 {
                let own = received.filter { $0.identity.id == "u\(user)" && seen.insert($0.id).inserted }
                #expect(own.compactMap(\.event.number) == own.compactMap(\.event.number).sorted())
            }
        }
        try await last.expectBalance()
    }
}

/// A store that ignores everything after a number of operations.
private final class MortalStore: OutboxStoreDecorator, StateStoreDecorator {
    let base: any OutboxStore
    let baseState: any StateStore
    private let left: Shared<Int>

    init(_ beneath: ClientStore, operations: Int) {
        base = beneath.outbox
        baseState = beneath.state
        left = Shared(operations)
    }

    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        left.change { $0 -= 1 }
        if left.value < 0 { throw ExperimentationError(.store, "This process has been killed.") }
        return try await body()
    }
}
