import ExperimentationTesting
import Foundation
import Testing
import Waiting

@testable import Experimentation

@Suite("Consent is checked before the queue")
struct ConsentRaceTests {
    @Test("P24 after a withdrawal no delivery begins and nothing is left", arguments: 0..<(isSoak ? 500 : 60))
    func withdrawal(seed: Int) async throws {
        let dice = Dice(seed)
        let isWithdrawn = Shared(false)
        let tooLate = Shared(0)
        let isHonest = seed.isMultiple(of: 2)
        let vendor = ScriptedVendor(
            batching: BatchPolicy(count: 3, largest: 5, interval: .milliseconds(1)),
            needsConsent: true
        ) { batch in
            // One request per event, as some vendors need; a cancelled task starts no more.
            var report = DeliveryReport(noAnswerTo: batch.count)
            for (place, envelope) in batch.enumerated() {
                if Task.isCancelled { return report }
                if envelope.identity.id == "ada", !envelope.isConsentSignal, isWithdrawn.value {
                    tooLate.change { $0 += 1 }
                }
                if isHonest { await Task.yield() }
                try? await pause(.microseconds(200))
                report[place] = .delivered
            }
            return report
        }
        let client = try await vendor.client(time: SystemTime())
        let ada = client.session(for: User(id: "ada", consent: dice.below(2) == 0 ? .granted : .unknown))
        let bob = client.session(for: User(id: "bob", consent: .granted))
        let wait = Duration.microseconds(dice.below(3_000))
        try await withThrowingTaskGroup { group in
            for number in 0..<3 {
                group.addTask {
                    for step in 0..<10 { try? await ada.track(.numbered(number * 10 + step)) }
                }
            }
            group.addTask { for step in 0..<10 { try await bob.track(.numbered(step)) } }
            group.addTask { for _ in 0..<5 { _ = try await client.flush() } }
            group.addTask {
                try await pause(wait)
                if dice.below(2) == 0 { try await ada.setConsent(.granted) }
                try await ada.setConsent(.denied)
                isWithdrawn.value = true
            }
            try await group.waitForAll()
        }
        try await eventually("an empty outbox") { try await client.flush().isDone }
        #expect(tooLate.value == 0)
        let status = try await client.outboxStatus()
        #expect(status.ready + status.held + status.delayed + status.leased == 0, "\(status)")
        // Other users' events aren't lost.
        let received = Set(vendor.record.received.filter { $0.identity.id == "bob" && !$0.isConsentSignal }.map(\.id))
        #expect(received.count == 10)
        try await client.expectBalance()
        await client.shutdown()
    }

    @Test("an event concurrent with granted consent isn't held forever", arguments: 0..<40)
    func granting(seed: Int) async throws {
        let dice = Dice(seed)
        let vendor = ScriptedVendor(needsConsent: true)
        let client = try await vendor.client()
        let session = client.session(for: User(id: "ada"))
        try await withThrowingTaskGroup { group in
            for number in 0..<4 { group.addTask { try await session.track(.numbered(number)) } }
            group.addTask {
                for _ in 0..<dice.below(20) { await Task.yield() }
                try await session.setConsent(.granted)
            }
            try await group.waitForAll()
        }
        #expect(try await client.flush().isDone)
        #expect(Set(vendor.record.received.compactMap(\.event.number)) == [0, 1, 2, 3])
    }

    @Test("P24 events being leased during a withdrawal aren't sent, whatever follows")
    func leasedMeanwhile() async throws {
        let store = SlowLease()
        let vendor = ScriptedVendor(needsConsent: true)
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()))
        let ada = client.session(for: User(id: "ada", consent: .granted))
        let bob = client.session(for: User(id: "bob", consent: .granted))
        for number in 0..<6 { try await (number.isMultiple(of: 2) ? ada : bob).track(.numbered(number)) }
        async let flushed = client.flush().isDone
        await store.untilLeased()
        // Removes all her events and reports the denial to the vendor.
        try await ada.setConsent(.denied)
        store.goOn()
        #expect(try await flushed)
        #expect(vendor.record.batches.flatMap(\.self).compactMap(\.event.number) == [1, 3, 5])
        try await client.expectBalance(Ledger(accepted: 7, delivered: 4, purged: 3))
    }

    @Test("P24 events leased before a withdrawal aren't sent, even if consent is granted again")
    func leasedBeside() async throws {
        let store = SlowLease(number: 2)
        let vendor = ScriptedVendor(batching: BatchPolicy(count: 100, largest: 2), needsConsent: true)
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()))
        let ada = client.session(for: User(id: "ada", consent: .granted))
        let bob = client.session(for: User(id: "bob", consent: .granted))
        for number in 0..<6 { try await (number.isMultiple(of: 2) ? ada : bob).track(.numbered(number)) }
        async let flushed = client.flush().isDone
        await store.untilLeased()
        // The previous batch is delivered and settled.
        try await eventually("two deliveries") { try await client.ledger().delivered >= 2 }
        try await ada.setConsent(.denied)
        try await ada.setConsent(.granted)
        try await ada.track(.numbered(6))
        store.goOn()
        #expect(try await flushed)
        #expect(vendor.record.batches.flatMap(\.self).compactMap(\.event.number) == [0, 1, 3, 5, 6])
        try await client.expectBalance(Ledger(accepted: 9, delivered: 7, purged: 2))
    }

    @Test("a batch that is leased while deliveries are being stopped isn't sent")
    func stoppedMeanwhile() async throws {
        let store = SlowLease()
        let vendor = ScriptedVendor()
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()))
        try await client.session(for: User(id: "ada", consent: .granted)).track(.numbered(1))
        let flushing = Task { try await client.flush(retrying: false) }
        await store.untilLeased()
        await client.setConnectivity(.offline)
        store.goOn()
        _ = try await flushing.value
        #expect(vendor.record.batches.isEmpty)
        await client.setConnectivity(.online)
        #expect(try await client.flush(retrying: false).isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == [1])
    }

    @Test(
        "a grant noted with an event that can't be stored takes effect nevertheless",
        arguments: [true, false]
    )
    func grantWithRefusedEvent(isDenied: Bool) async throws {
        let vendor = ScriptedVendor(needsConsent: true)
        let store = ClientStore(outbox: InMemoryOutboxStore(maximumEventBytes: 2_000), state: InMemoryStateStore())
        let first = try await vendor.client(store: store)
        if isDenied {
            try await first.session(for: User(id: "ada", consent: .granted)).setConsent(.denied)
        } else {
            try await first.session(for: User(id: "ada")).track(.numbered(1))
        }
        await first.shutdown(within: .zero)
        let client = try await vendor.client(store: store)
        await client.setConnectivity(.offline)
        let session = client.session(for: User(id: "ada", consent: .granted))
        let tooLarge = TrackingEvent.custom(
            "large",
            attributes: ["text": .string(String(repeating: "x", count: 3_000))]
        )
        try session.trackSoon(tooLarge)
        try session.trackSoon(.numbered(2))
        await client.core.outbox.drain()
        await client.setConnectivity(.online)
        #expect(try await client.flush(retrying: false).isDone)
        #expect(try await client.outboxStatus().held == 0)
        #expect(vendor.record.received.compactMap(\.event.number) == (isDenied ? [2] : [1, 2]))
    }

    @Test("an event accepted after renewed consent survives a removal that began before", arguments: 0..<40)
    func survivesRemoval(seed: Int) async throws {
        let vendor = ScriptedVendor(needsConsent: true)
        let client = try await vendor.client()
        // Removes the events of an earlier run, asynchronously.
        let session = client.session(for: User(id: "ada", consent: .denied))
        for _ in 0..<(seed % 8) { await Task.yield() }
        try await session.setConsent(.granted)
        try await session.track(.numbered(1))
        for _ in 0..<20 { await Task.yield() }
        #expect(try await client.flush().isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == [1])
    }

    @Test("events of a user who denied and then consents again are delivered")
    func comesBack() async throws {
        let vendor = ScriptedVendor(needsConsent: true)
        let client = try await vendor.client()
        let session = client.session(for: User(id: "ada", consent: .granted))
        try await session.setConsent(.denied)
        await #expect(throws: ExperimentationError.self) { try await session.track(.numbered(1)) }
        let again = client.session(for: User(id: "ada", consent: .granted))
        try await again.track(.numbered(2))
        #expect(try await client.flush().isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == [2])
    }

    @Test("events held by an earlier run are sent when the user returns with consent, before new ones")
    func heldByEarlierRun() async throws {
        let vendor = ScriptedVendor(needsConsent: true)
        let store = ClientStore(outbox: TroubledStore(), state: InMemoryStateStore())
        let first = try await vendor.client(store: store)
        let earlier = first.session(for: User(id: "ada"))
        try await earlier.track(.numbered(1))
        try await first.session(for: User(id: "eve")).track(.numbered(9))
        await first.shutdown()
        let client = try await vendor.client(store: store)
        let ada = client.session(for: User(id: "ada", consent: .granted))
        try await ada.track(.numbered(2))
        #expect(try await client.flush(retrying: false).isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == [1, 2])
        #expect(try await client.outboxStatus().held == 1)
    }

    @Test("events held by an earlier run are sent when the user returns with consent, without further calls")
    func heldAndSilent() async throws {
        let vendor = ScriptedVendor(needsConsent: true)
        let store = ClientStore(outbox: TroubledStore(), state: InMemoryStateStore())
        let first = try await vendor.client(store: store)
        for (number, id) in ["ada", "bob"].enumerated() {
            try await first.session(for: User(id: id)).track(.numbered(number))
        }
        await first.shutdown()
        let client = try await vendor.client(store: store)
        let session = client.session(for: User(id: "ada", consent: .granted))
        try await eventually("released events") { try await client.outboxStatus().held <= 1 }
        session.identify(Identity(id: "bob"))
        try await eventually("released events") { try await client.outboxStatus().held <= 0 }
        #expect(try await client.flush(retrying: false).isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == [0, 1])
    }

    @Test("an event being tracked while its user consents isn't held forever", arguments: [true, false])
    func agreedMeanwhile(isNoted: Bool) async throws {
        let (reached, agreed) = (Door(), DispatchSemaphore(value: 0))
        let isWaited = Shared(false)
        let vendor = ScriptedVendor(needsConsent: true)
        let client = try await ExperimentationClient(
            provider: vendor,
            environment: ClientEnvironment(
                time: ManualTime(),
                // The event's id is created after the consent check and before it is stored.
                makeID: {
                    if isWaited.value {
                        isWaited.value = false
                        reached.knock()
                        agreed.wait()
                    }
                    return FreshID.make()
                }
            )
        )
        let session = client.session(for: User(id: "ada"))
        isWaited.value = true
        // On its own thread, because it blocks.
        let tracking = Task(executorPreference: OwnThread()) {
            if isNoted { try session.trackSoon(.numbered(1)) } else { try await session.track(.numbered(1)) }
        }
        await reached.untilReached()
        try await session.setConsent(.granted)
        agreed.signal()
        try await tracking.value
        try await eventually("released events") { try await client.outboxStatus().held <= 0 }
        #expect(try await client.flush(retrying: false).isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == [1])
    }

    @Test("held events are released by the user's next session with consent, before its own events")
    func releasedByNextSession() async throws {
        let vendor = ScriptedVendor(needsConsent: true)
        let client = try await vendor.client()
        for number in 0..<3 {
            try await client.session(for: User(id: "ada", consent: .granted)).track(.numbered(number))
        }
        try await client.session(for: User(id: "ada")).track(.numbered(3))
        #expect(try await client.outboxStatus().held == 1)
        for number in 4..<7 {
            try await client.session(for: User(id: "ada", consent: .granted)).track(.numbered(number))
        }
        #expect(try await client.outboxStatus().held == 0)
        #expect(try await client.flush(retrying: false).isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == Array(0..<7))
    }

    @Test("a denial removes events accepted before it and none after it, whatever the session")
    func beforeAndAfter() async throws {
        let vendor = ScriptedVendor()
        let client = try await vendor.client()
        await client.setConnectivity(.offline)
        try await client.session(for: User(id: "ada", consent: .granted)).track(.numbered(0))
        let denied = client.session(for: User(id: "ada", consent: .denied))
        let error = await #expect(throws: ExperimentationError.self) { try await denied.track(.numbered(1)) }
        #expect(error?.code == .consentDenied)
        for number in 2..<4 {
            try await client.session(for: User(id: "ada", consent: .granted)).track(.numbered(number))
        }
        await client.setConnectivity(.online)
        #expect(try await client.flush(retrying: false).isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == [2, 3])
        try await client.expectBalance(Ledger(accepted: 3, delivered: 2, purged: 1))
    }

    @Test("a denial applies to every session of the user, until the user consents again")
    func otherSessions() async throws {
        let vendor = ScriptedVendor()
        let store = ClientStore.inMemory()
        let client = try await vendor.client(store: store)
        let phone = client.session(for: User(id: "ada", consent: .granted))
        try await phone.track(.numbered(0))
        try await client.session(for: User(id: "ada", consent: .granted)).setConsent(.denied)
        for session in [phone, client.session(for: User(id: "ada"))] {
            let error = await #expect(throws: ExperimentationError.self) { try await session.track(.numbered(1)) }
            #expect(error?.code == .consentDenied)
        }
        // Another client on the same store acts as another process.
        let other = try await vendor.client(store: store).session(for: User(id: "ada"))
        await #expect(throws: ExperimentationError.self) { try await other.track(.numbered(2)) }
        try await phone.setConsent(.granted)
        try await other.track(.numbered(3))
        #expect(try await client.flush(retrying: false).isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == [3])
    }

    @Test(
        "P07 events tracked after consent was denied and granted again are delivered in order, behind a slow delivery"
    )
    func deniedAndGranted() async throws {
        let door = Door()
        let vendor = ScriptedVendor(batching: BatchPolicy(count: 1_000, largest: 2, interval: .seconds(3_600))) {
            batch in
            if batch.first?.event.number == 0 { await door.pass() }
            return DeliveryReport(.delivered)
        }
        let client = try await vendor.client()
        let ada = client.session(for: User(id: "ada", consent: .granted))
        let bob = client.session(for: User(id: "bob", consent: .granted))
        for number in 0..<2 { try await bob.track(.numbered(number)) }
        for number in 2..<6 { try await ada.track(.numbered(number)) }
        async let flushed = client.flush(retrying: false).isDone
        await door.untilReached()
        try await ada.setConsent(.denied)
        try await ada.setConsent(.granted)
        for number in 6..<9 { try await ada.track(.numbered(number)) }
        door.open()
        _ = try await flushed
        #expect(try await client.flush(retrying: false).isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == [0, 1, 6, 7, 8])
        try await client.expectBalance()
        #expect(try await client.ledger().purged == 4)
    }
}

/// An executor for tasks that may block.
private final class OwnThread: TaskExecutor {
    private let queue = DispatchQueue(label: "own thread")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

extension Envelope {
    fileprivate var isConsentSignal: Bool {
        if case .consentChanged = event.kind { true } else { false }
    }
}
