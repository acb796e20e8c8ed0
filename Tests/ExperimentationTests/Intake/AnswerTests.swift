import ExperimentationTesting
import Foundation
import Synchronization
import Testing
import Waiting

@testable import Experimentation

/// A store that reports whether the first answer is recorded while the second request is in progress.
private final class BesideStore: OutboxStoreDecorator {
    let base: any OutboxStore = InMemoryOutboxStore()
    /// Open once events have been leased for the second time.
    let leasedAhead = AsyncGate()
    /// The number of requests that have begun.
    let requests = Shared(0)
    let wasBeside = Shared(false)
    private let (leases, settlements) = (Shared(0), Shared(0))

    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        let answer = try await base.lease(request)
        if case .leased(let lease) = answer, !lease.batches.isEmpty {
            leases.change { $0 += 1 }
            if leases.value == 2 { leasedAhead.open() }
        }
        return answer
    }

    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        if operation == .settle {
            settlements.change { $0 += 1 }
            if settlements.value == 1 {
                for _ in 0..<1_000 where requests.value < 2 { await Task.yield() }
                wasBeside.change { $0 = requests.value > 1 }
            }
        }
        return try await body()
    }
}

/// Batches of one event, so that an answer is recorded while the next request is in progress.
@Suite("A vendor's answer is recorded, reported and obeyed")
struct AnswerTests {
    private let time = ManualTime()
    private static let single = BatchPolicy(count: 1_000_000, largest: 1, bytes: .max, interval: .seconds(3_600))

    /// A vendor that accepts two events and answers the third otherwise.
    private func vendor(then verdict: Verdict) -> ScriptedVendor {
        let calls = Shared(0)
        return ScriptedVendor(batching: Self.single) { _ in
            calls.change { $0 += 1 }
            return DeliveryReport(calls.value < 3 ? .delivered : verdict)
        }
    }

    private func client(_ vendor: ScriptedVendor, _ store: any OutboxStore) async throws -> ExperimentationClient {
        let client = try await vendor.client(
            store: ClientStore(outbox: store, state: InMemoryStateStore()),
            time: time
        )
        for (number, user) in ["ada", "bob", "cleo"].enumerated() {
            try await client.session(for: User(id: user)).track(.numbered(number))
        }
        return client
    }

    @Test("P12 a pause that the vendor asks for is kept even if the store fails at the same moment")
    func askedPause() async throws {
        let vendor = vendor(then: .outage(after: .seconds(300)))
        let client = try await client(vendor, TroubledStore(.init(failingSettle: 2)))
        _ = try await client.flush(retrying: false)
        #expect(vendor.record.batches.count == 3)
        time.advance(by: .seconds(299))
        _ = try await client.flush(retrying: false)
        #expect(vendor.record.batches.count == 3)
        vendor.answer { _ in DeliveryReport(.delivered) }
        time.advance(by: .seconds(2))
        #expect(try await client.flush(retrying: false).isDone)
        try await client.expectBalance(Ledger(accepted: 3, delivered: 3))
    }

    @Test("refused credentials stop deliveries even if the store fails at the same moment")
    func refusal() async throws {
        let vendor = vendor(then: .stop(ExperimentationError(.unauthorized, "no such key")))
        let client = try await client(vendor, TroubledStore(.init(failingSettle: 2)))
        _ = try await client.flush(retrying: false)
        time.advance(by: .seconds(600))
        _ = try await client.flush(retrying: false)
        #expect(vendor.record.batches.count == 3)
    }

    @Test("the client learns of the kill switch even if the answer can't be recorded")
    func told() async throws {
        let vendor = ScriptedVendor(batching: Self.single) { _ in DeliveryReport(.delivered, isDisabled: true) }
        let client = try await client(vendor, TroubledStore(.init(failingSettle: 1)))
        _ = try await client.flush(retrying: false)
        #expect(client.status == .disabled)
    }

    @Test("an answer is recorded while the next lease waits for the store")
    func slowLease() async throws {
        let store = SlowLease(number: 2)
        let vendor = ScriptedVendor(batching: Self.single)
        let client = try await client(vendor, store)
        let flushing = Task { try await client.flush(retrying: false) }
        await store.untilLeased()
        try await eventually("the first answer is written down") {
            try await store.base.ledger(of: nil).delivered == 1
        }
        store.goOn()
        #expect(try await flushing.value.isDone)
        try await client.expectBalance(Ledger(accepted: 3, delivered: 3))
    }

    @Test("an answer is recorded during the next request if the next lease has arrived")
    func quickLease() async throws {
        var wasBeside = false
        // Whether a lease has arrived in time is a matter of chance, but it nearly always has.
        for _ in 0..<20 where !wasBeside {
            let store = BesideStore()
            let vendor = ScriptedVendor(batching: Self.single) { _ in
                store.requests.change { $0 += 1 }
                await store.leasedAhead.wait()
                return DeliveryReport(.delivered)
            }
            let client = try await client(vendor, store)
            #expect(try await client.flush(retrying: false).isDone)
            wasBeside = store.wasBeside.value
        }
        #expect(wasBeside)
    }

    @Test("an answer that arrives while a client shuts down is recorded, and its lane is free at once")
    func shutdown() async throws {
        let store = TroubledStore()
        let asked = AsyncGate()
        // Accepts the event at the moment when the client gives up.
        let vendor = ScriptedVendor(batching: Self.single) { _ in
            asked.open()
            await AsyncGate().wait()
            return DeliveryReport(.delivered)
        }
        let client = try await client(vendor, store)
        let flushing = Task { try await client.flush(within: .seconds(1), retrying: false) }
        await asked.wait()
        await client.shutdown(within: .zero)
        flushing.cancel()
        try await eventually("the answer is written down") { try await store.ledger(of: nil).delivered == 1 }
        try await eventually("the lane is free") {
            try await store.status(of: nil, now: time.now).leased == 0
        }
    }

    @Test(
        "events that are dropped are settled like those that the vendor accepts or refuses",
        arguments: [1, 3]
    )
    func settled(attempts: Int) {
        let batch = (0..<2).map { number in
            Envelope(
                id: "\(number)",
                sequence: Int64(number),
                identity: Identity(id: "ada"),
                event: .numbered(number),
                date: time.now
            )
        }
        let settlements = [
            Settlement(id: batch[0].id, sequence: 0, .dropped(.exhausted, detail: "HTTP 400")),
            Settlement(id: batch[1].id, sequence: 1, .retry(at: time.now, attempts: attempts, reason: "HTTP 400")),
        ]
        let report = DeliveryReport(.failed("HTTP 400"))
        let event = DeliveryEvent(report, report.verdicts(count: 2), settlements, to: batch)
        #expect(event.settled.map(\.sequence) == [0])
    }
}
