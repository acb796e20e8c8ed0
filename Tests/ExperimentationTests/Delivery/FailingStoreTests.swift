import ExperimentationTesting
import Foundation
import Testing
import Waiting

@testable import Experimentation

@Suite("A failing store is survived")
struct FailingStoreTests {
    @Test("a failed removal of everything doesn't block events of users who never denied")
    func failedRemovalOfAll() async throws {
        let store = TroubledStore(.init(failsRemovals: true))
        let vendor = ScriptedVendor()
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()))
        try await client.session(for: User(id: "ada", consent: .granted)).track(.numbered(1))
        await #expect(throws: ExperimentationError.self) { try await client.removeWaitingEvents() }
        #expect(try await client.flush(retrying: false).isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == [1])
    }

    @Test(
        "after a withdrawal that the store couldn't carry out, events aren't sent unless the user consents again",
        arguments: [100, 3, 2, 1]
    )
    func failedWithdrawal(largest: Int) async throws {
        let store = TroubledStore(.init(failsDenials: true))
        // Others' events are sent, though full batches are in front of them that aren't.
        let vendor = ScriptedVendor(
            batching: BatchPolicy(count: 1_000_000, largest: largest, interval: .seconds(3_600)),
            needsConsent: true
        )
        let time = ManualTime()
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()), time: time)
        let ada = client.session(for: User(id: "ada", consent: .granted))
        for number in 0..<3 { try await ada.track(.numbered(number)) }
        try await client.session(for: User(id: "bob", consent: .granted)).track(.numbered(3))
        await #expect(throws: ExperimentationError.self) { try await ada.setConsent(.denied) }
        #expect(try await client.flush(retrying: false).isDone == false)
        #expect(vendor.record.received.compactMap(\.event.number) == [3])
        #expect(try await client.outboxStatus().leased == 0)
        try await ada.setConsent(.granted)
        try await client.drain(time, for: .seconds(60))
        #expect(vendor.record.received.compactMap(\.event.number) == [3, 0, 1, 2])
    }

    @Test("events leased when the store failed are sent as soon as it works, not when the lease expires")
    func inHand() async throws {
        let vendor = ScriptedVendor { batch in
            // The first event is accepted, the others should come in smaller batches.
            DeliveryReport([.delivered] + batch.dropFirst().map { _ in .split("413") })
        }
        let time = ManualTime()
        let client = try await vendor.client(
            store: ClientStore(outbox: TroubledStore(.init(failingSettle: 1)), state: InMemoryStateStore()),
            time: time
        )
        for number in 0..<5 { try await client.session(for: User(id: "\(number)")).track(.numbered(number)) }
        _ = try await client.flush(retrying: false)
        vendor.answer { _ in DeliveryReport(.delivered) }
        time.advance(by: .seconds(10))
        #expect(try await client.flush(retrying: false).isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == [0, 1, 2, 3, 4])
        try await client.expectBalance(Ledger(accepted: 5, delivered: 5))
    }

    @Test("a withdrawal that the store couldn't carry out is reported to the vendor, and carried out by the next call")
    func withdrawnTwice() async throws {
        let store = TroubledStore(.init(failsDenials: true))
        let vendor = ScriptedVendor(needsConsent: true)
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()))
        let ada = client.session(for: User(id: "ada", consent: .granted))
        try await ada.track(.numbered(1))
        await #expect(throws: ExperimentationError.self) { try await ada.setConsent(.denied) }
        #expect(try await client.waitingEvents().map(\.envelope.event.type) == ["custom", "consentChanged"])
        store.mendDenials()
        try await ada.setConsent(.denied)
        #expect(try await client.flush(retrying: false).isDone)
        #expect(vendor.record.received.map(\.event.type) == ["consentChanged"])
        try await client.expectBalance(Ledger(accepted: 2, delivered: 1, purged: 1))
    }

    @Test("a consent signal that couldn't be stored is sent by the next call, once")
    func signalOwed() async throws {
        let vendor = ScriptedVendor(needsConsent: true)
        let store = TroubledStore(.init(failingAppend: 1))
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()))
        let ada = client.session(for: User(id: "ada", consent: .granted))
        await #expect(throws: ExperimentationError.self) { try await ada.setConsent(.denied) }
        for _ in 0..<2 { try await ada.setConsent(.denied) }
        #expect(try await client.flush(retrying: false).isDone)
        #expect(vendor.record.received.map(\.event.type) == ["consentChanged"])
    }

    @Test(
        "P25 flush and shutdown end by their deadline with a store that doesn't answer",
        arguments: [StoreOperation.append, .lease, .isCurrent, .settle, .status]
    )
    func unansweredFlush(question: StoreOperation) async throws {
        let store = TroubledStore()
        let time = ManualTime()
        let client = try await ScriptedVendor().client(
            store: ClientStore(outbox: store, state: InMemoryStateStore()),
            time: time
        )
        let session = client.session(for: User(id: "ada"))
        try await session.track(.numbered(0))
        store.fallSilent(at: question)
        try session.trackSoon(.numbered(1))
        let answers = Shared<[Bool]>([])
        let task = Task {
            let isDelivered = try await client.flush(within: .milliseconds(20)).isDone
            answers.change { $0.append(isDelivered) }
            await client.shutdown(within: .milliseconds(20))
            answers.change { $0.append(true) }
        }
        try await eventually("two answers") {
            time.advance(by: .milliseconds(5))
            return answers.value.count >= 2
        }
        #expect(answers.value == [false, true])
        store.speak()
        try await task.value
    }
}
