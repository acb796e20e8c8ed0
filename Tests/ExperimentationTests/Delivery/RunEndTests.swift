import ExperimentationTesting
import Foundation
import Testing
import Waiting

@testable import Experimentation

@Suite("A run of deliveries ends with what the store had")
struct RunEndTests {
    private let time = ManualTime()
    private let store = InMemoryOutboxStore()

    private func client(_ vendor: ScriptedVendor) async throws -> ExperimentationClient {
        try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()), time: time)
    }

    /// Waits until a number of events is delivered and no batch is under way.
    private func untilDelivered(_ number: Int) async throws {
        try await eventually("\(number) events are delivered, and the lane is free") {
            let status = try await store.status(of: nil, now: time.now)
            return try await store.ledger(of: nil).delivered == number && status.leased == 0
        }
    }

    @Test("an event that is accepted during a run waits for others, at most as long as the policy says")
    func during() async throws {
        let (asked, answer) = (AsyncGate(), AsyncGate())
        let vendor = ScriptedVendor(batching: BatchPolicy(count: 3, largest: 10, interval: .seconds(60))) { _ in
            asked.open()
            await answer.wait()
            return DeliveryReport(.delivered)
        }
        let client = try await client(vendor)
        let session = client.session(for: User(id: "ada"))
        for number in 1...3 { try await session.track(.numbered(number)) }
        await asked.wait()
        try await session.track(.numbered(4))
        answer.open()
        try await untilDelivered(3)
        try await session.track(.numbered(5))
        time.advance(by: .seconds(59))
        try await session.track(.numbered(6))
        try await untilDelivered(6)
        try await session.track(.numbered(7))
        time.advance(by: .seconds(60))
        try await untilDelivered(7)
        #expect(
            vendor.record.batches.map { $0.map(\.event) }
                == [[1, 2, 3], [4, 5, 6], [7]].map { $0.map { .numbered($0) } }
        )
        await client.shutdown(within: .zero)
    }

    @Test("an event that waits for its next attempt is tried on time, though a later run delivered others meanwhile")
    func retry() async throws {
        let vendor = ScriptedVendor(batching: BatchPolicy(count: 1, largest: 10, interval: .seconds(60))) { batch in
            DeliveryReport(
                batch.contains { $0.attempts == 0 && $0.identity.id == "ada" } ? .failed("busy") : .delivered
            )
        }
        let client = try await client(vendor)
        try await client.session(for: User(id: "ada")).track(.numbered(1))
        try await eventually("the first attempt has failed") {
            try await store.status(of: nil, now: time.now).delayed == 1
        }
        try await client.session(for: User(id: "bob")).track(.numbered(2))
        try await untilDelivered(1)
        let next = try #require(try await store.status(of: nil, now: time.now).nextAttempt)
        time.advance(by: .seconds(next.timeIntervalSince(time.now)))
        try await untilDelivered(2)
        #expect(vendor.record.batches.map { $0.map(\.event) } == [[1], [2], [1]].map { $0.map { .numbered($0) } })
        await client.shutdown(within: .zero)
    }

    @Test("an event whose wait ends while others are sent is tried in the same run, so that a flush waits for it")
    func meanwhile() async throws {
        let (retried, answer) = (AsyncGate(), AsyncGate())
        let policy = BatchPolicy(count: 1_000, largest: 10, interval: .seconds(3_600))
        let vendor = ScriptedVendor(batching: policy) { [time] batch in
            if batch[0].identity.id == "bob" { time.advance(by: .seconds(5)) }
            if batch[0].identity.id == "ada", batch[0].attempts == 0 { return DeliveryReport(.failed("busy")) }
            if batch[0].attempts > 0 {
                retried.open()
                await answer.wait()
            }
            return DeliveryReport(.delivered)
        }
        let client = try await client(vendor)
        try await client.session(for: User(id: "ada")).track(.numbered(1))
        #expect(try await !client.flush(retrying: false).isDone)
        try await client.session(for: User(id: "bob")).track(.numbered(2))
        async let flushed = client.flush(retrying: false).isDone
        await retried.wait()
        await time.settle()
        answer.open()
        #expect(try await flushed)
        await client.shutdown(within: .zero)
    }

    @Test("a flush ends with the first run that began after it, though events are accepted all the time")
    func load() async throws {
        let (asked, answer) = (AsyncGate(), AsyncGate())
        let vendor = ScriptedVendor(batching: BatchPolicy(count: 1, largest: 10))
        let client = try await client(vendor)
        let session = client.session(for: User(id: "ada"))
        vendor.answer { batch in
            asked.open()
            await answer.wait()
            // Each request brings about the next.
            if let number = batch.last?.event.number, number < 200 { try? await session.track(.numbered(number + 1)) }
            return DeliveryReport(.delivered)
        }
        try await session.track(.numbered(0))
        await asked.wait()
        async let flushed = client.flush()
        await time.waitForSleepers(1)
        answer.open()
        _ = try await flushed
        #expect(vendor.record.batches.count < 100)
        vendor.answer { _ in DeliveryReport(.delivered) }
        await client.shutdown()
    }
}
