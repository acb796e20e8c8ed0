import ExperimentationTesting
import Foundation
import Synchronization
import Testing

@testable import Experimentation

/// An outbox that fails at one operation.
private final class FailingStore: ForwardingOutbox {
    let inner: any OutboxStore = InMemoryOutboxStore()
    private let failing: Range<Int>
    private let count = Mutex(0)

    init(failing: Range<Int>) { self.failing = failing }

    /// How many operations there were.
    var operations: Int { count.withLock { $0 } }

    func willForward() throws(ExperimentationError) {
        let number = count.withLock { count in
            defer { count += 1 }
            return count
        }
        if failing.contains(number) { throw ExperimentationError(.store, "The disk failed.") }
    }

    func ledger() async throws(ExperimentationError) -> Ledger { try await inner.ledger() }
}

@Suite("A store that fails is survived")
struct FailingStoreTests {
    @Test("P18 whichever operation fails, what was accepted is delivered and the accounts balance", arguments: [1, 3])
    func anyOperation(length: Int) async throws {
        var first = 0
        while true {
            let time = ManualTime()
            let store = FailingStore(failing: first..<(first + length))
            let dice = Dice(first)
            let vendor = ScriptedVendor { batch in
                DeliveryReport(dice.below(3) == 0 ? .outage() : .delivered, for: batch)
            }
            let client = try await vendor.client(
                store: ClientStore(outbox: store, state: InMemoryStateStore()),
                time: time
            )
            let session = client.session(for: User(id: "ada"))
            var accepted: [Int] = []
            for number in 0..<12 {
                if (try? await session.track(.numbered(number))) != nil { accepted.append(number) }
                if number % 3 == 2 { _ = try? await client.flush(retrying: false) }
            }
            vendor.answer { DeliveryReport(.delivered, for: $0) }
            for _ in 0..<10 {
                time.advance(by: .seconds(150))
                if (try? await client.flush(retrying: false)) == true { break }
            }
            var seen: Set<String> = []
            let received = vendor.record.received.filter { seen.insert($0.id).inserted }.compactMap(\.event.number)
            #expect(received == accepted, "operation \(first)")
            let ledger = try await client.ledger()
            #expect(ledger == Ledger(accepted: accepted.count, delivered: accepted.count), "operation \(first)")
            // The sweep ends by itself: at an operation that there isn't.
            if store.operations <= first { break }
            first += 1
        }
        #expect(first > 20)
    }

    @Test("a removal of everything that fails doesn't keep events of users from being sent who never denied")
    func failedRemovalOfAll() async throws {
        let store = TroubledStore(.init(failsPurges: true))
        let vendor = ScriptedVendor()
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()))
        try await client.session(for: User(id: "ada", consent: .granted)).track(.numbered(1))
        await #expect(throws: ExperimentationError.self) { try await client.removeWaitingEvents() }
        #expect(try await client.flush(retrying: false))
        #expect(vendor.record.received.compactMap(\.event.number) == [1])
    }

    @Test("events of a withdrawal that the store couldn't follow aren't sent, and go out if the user agrees again")
    func failedWithdrawal() async throws {
        let store = TroubledStore(.init(failsPurges: true))
        let vendor = ScriptedVendor(needsConsent: true)
        let time = ManualTime()
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()), time: time)
        let ada = client.session(for: User(id: "ada", consent: .granted))
        for number in 0..<3 { try await ada.track(.numbered(number)) }
        try await client.session(for: User(id: "bob", consent: .granted)).track(.numbered(3))
        await #expect(throws: ExperimentationError.self) { try await ada.setConsent(.denied) }
        #expect(try await client.flush(retrying: false) == false)
        #expect(vendor.record.received.compactMap(\.event.number) == [3])
        #expect(try await client.outboxStatus().leased == 0)
        try await ada.setConsent(.granted)
        try await client.drain(time, for: .seconds(60))
        #expect(vendor.record.received.compactMap(\.event.number) == [3, 0, 1, 2])
    }

    @Test("events that are stored aren't stored again because the removal of another's failed")
    func storedOnce() async throws {
        let store = TroubledStore(.init(slowAppend: 1, failsPurges: true))
        let vendor = ScriptedVendor()
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()))
        let outbox = client.core.outbox
        func envelope(_ user: String, _ number: Int) -> Envelope {
            Envelope(id: "\(number)", identity: Identity(id: user), event: .numbered(number), date: Date())
        }
        outbox.note(envelope("bob", 0), isHeld: false)
        await store.appendDoor.untilReached()
        // These come together behind it; one user agrees before theirs is stored, and no longer after.
        let asked = Shared(0)
        outbox.note(envelope("bob", 1), isHeld: false)
        outbox.note(envelope("ada", 2), isHeld: false) {
            asked.change { $0 += 1 }
            return asked.value == 1
        }
        store.appendDoor.open()
        await outbox.takeInNoted()
        // The removal is owed still: nothing goes out before it.
        _ = try await client.flush(retrying: false)
        #expect(vendor.record.received.isEmpty)
        store.mendPurges()
        #expect(try await client.flush(retrying: false))
        #expect(vendor.record.received.map(\.id) == ["0", "1"])
        try await client.expectBalance(Ledger(accepted: 3, delivered: 2, purged: 1))
    }

    @Test("what was in hand when the store failed goes out as soon as the store is back, not when its lease ends")
    func inHand() async throws {
        let vendor = ScriptedVendor { batch in
            // The first of them is taken, the others are to come in smaller batches.
            var report = DeliveryReport(.split("413"), for: batch)
            report.verdicts[batch[0].id] = .delivered
            return report
        }
        let time = ManualTime()
        let client = try await vendor.client(
            store: ClientStore(outbox: TroubledStore(.init(failingSettle: 1)), state: InMemoryStateStore()),
            time: time
        )
        for number in 0..<5 { try await client.session(for: User(id: "\(number)")).track(.numbered(number)) }
        _ = try await client.flush(retrying: false)
        vendor.answer { DeliveryReport(.delivered, for: $0) }
        time.advance(by: .seconds(10))
        #expect(try await client.flush(retrying: false))
        #expect(vendor.record.received.compactMap(\.event.number) == [0, 1, 2, 3, 4])
        try await client.expectBalance(Ledger(accepted: 5, delivered: 5))
    }

    @Test("a withdrawal that the store couldn't follow is told to the vendor, and followed by the next call")
    func withdrawnTwice() async throws {
        let store = TroubledStore(.init(failsPurges: true))
        let vendor = ScriptedVendor(needsConsent: true)
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()))
        let ada = client.session(for: User(id: "ada", consent: .granted))
        try await ada.track(.numbered(1))
        await #expect(throws: ExperimentationError.self) { try await ada.setConsent(.denied) }
        #expect(try await client.waitingEvents().map(\.envelope.event.type) == ["custom", "consentChanged"])
        store.mendPurges()
        try await ada.setConsent(.denied)
        #expect(try await client.flush(retrying: false))
        #expect(vendor.record.received.map(\.event.type) == ["consentChanged"])
        try await client.expectBalance(Ledger(accepted: 2, delivered: 1, purged: 1))
    }

    @Test("a signal of consent that couldn't be stored is told by the next call, once")
    func signalOwed() async throws {
        let vendor = ScriptedVendor(needsConsent: true)
        let store = FailingStore(failing: 2..<3)
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()))
        let ada = client.session(for: User(id: "ada", consent: .granted))
        await #expect(throws: ExperimentationError.self) { try await ada.setConsent(.denied) }
        for _ in 0..<2 { try await ada.setConsent(.denied) }
        #expect(try await client.flush(retrying: false))
        #expect(vendor.record.received.map(\.event.type) == ["consentChanged"])
    }

    @Test("P25 flush and shutdown end by their deadline beside a store that doesn't answer")
    func unansweredFlush() async throws {
        let store = TroubledStore(.init(slowAppend: 1))
        let vendor = ScriptedVendor()
        let client = try await vendor.client(
            store: ClientStore(outbox: store, state: InMemoryStateStore()),
            time: SystemTime()
        )
        try client.session(for: User(id: "ada")).note(.numbered(1))
        await store.appendDoor.untilReached()
        #expect(try await client.flush(within: .milliseconds(20)) == false)
        await client.shutdown(within: .milliseconds(20))
        store.appendDoor.open()
    }
}
