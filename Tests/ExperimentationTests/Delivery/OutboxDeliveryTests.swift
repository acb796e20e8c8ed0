import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization
import Testing
import Waiting

@Suite("The outbox delivers")
struct OutboxDeliveryTests {
    private let time = ManualTime()

    @Test("P03 a batch without an answer is sent again unchanged, under the same name; a new batch has a new one")
    func batchNames() async throws {
        let dice = Dice(3)
        let answers = Mutex<[Bool]>([])
        let rounds = isSoak ? 1_000 : 200
        let vendor = ScriptedVendor(batching: BatchPolicy(count: 1_000, largest: 5, interval: .seconds(3_600))) {
            _ in
            let isTaken = dice.below(10) >= 3
            answers.withLock { $0.append(isTaken) }
            return DeliveryReport(isTaken ? .delivered : .outage())
        }
        let client = try await vendor.client(time: time, jitter: { dice.fraction() })
        let session = client.session(for: User(id: "ada"))
        for round in 0..<rounds {
            for _ in 0...dice.below(7) { try await session.track(.numbered(round)) }
            try await client.flush(retrying: false)
            time.advance(by: .seconds(300))
        }
        try await client.drain(time)
        let batches = vendor.record.batches
        let isTaken = answers.withLock { $0 }
        #expect(isTaken.count == batches.count && isTaken.contains(false))
        for (index, batch) in batches.enumerated().dropLast() {
            #expect((batch.batchName == batches[index + 1].batchName) == !isTaken[index])
        }
        let taken = zip(batches, isTaken).filter(\.1).map(\.0.batchName)
        #expect(Set(batches.map(\.batchName)) == Set(taken) && Set(taken).count == taken.count)
        let received = vendor.record.received
        #expect(Set(received.map(\.id)).count == received.count)
        try await client.expectBalance(Ledger(accepted: received.count, delivered: received.count))
    }

    @Test("a flush without time has the events delivered that are still on their way to the store")
    func noTime() async throws {
        let store = TroubledStore(.init(slowAppend: 1))
        let vendor = ScriptedVendor()
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()), time: time)
        let tracking = Task { try await client.session(for: User(id: "ada")).track(.numbered(1)) }
        await store.appendDoor.untilReached()
        #expect(try await client.flush(within: .zero) == .unknown)
        #expect(vendor.record.received.isEmpty)
        store.appendDoor.open()
        try await tracking.value
        try await eventually("the vendor has the event") { vendor.record.received.map(\.event) == [.numbered(1)] }
        await client.shutdown(within: .zero)
    }

    @Test("waiting events of all users can be listed and removed, and the users continue")
    func removal() async throws {
        let vendor = ScriptedVendor(batching: BatchPolicy(count: 1_000, interval: .seconds(3_600))) { _ in
            DeliveryReport(.delivered)
        }
        let client = try await vendor.client(time: time)
        let ada = client.session(for: User(id: "ada"))
        let id = try await ada.trackWithID(.numbered(1))
        try await client.session(for: User(id: "bob")).track(.numbered(2))
        let waiting = try await client.waitingEvents()
        #expect(waiting.map(\.envelope.identity.id) == ["ada", "bob"])
        #expect(waiting.first?.envelope.id == id)
        #expect(try await client.removeWaitingEvents() == 2)
        #expect(try await client.waitingEvents().isEmpty)
        try await ada.track(.numbered(3))
        try await client.flush()
        try await client.expectBalance(Ledger(accepted: 3, delivered: 1, purged: 2))
        #expect(vendor.record.received.map(\.event) == [.numbered(3)])
    }

    @Test("no further request begins with events that are being removed")
    func removalWhileSending() async throws {
        let vendor = ScriptedVendor { _ in
            // Until the request is cancelled.
            await AsyncGate().wait()
            return DeliveryReport(noAnswerTo: 1)
        }
        let store = LateRemoval(base: InMemoryOutboxStore()) { vendor.record.batches.count > 1 }
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()), time: time)
        try await client.session(for: User(id: "ada")).track(.numbered(1))
        let flush = Task { try await client.flush(retrying: false) }
        try await eventually("the request has begun") { vendor.record.batches.count == 1 }
        #expect(try await client.removeWaitingEvents() == 1)
        #expect(try await flush.value.isDone)
        #expect(vendor.record.batches.count == 1)
        try await client.expectBalance(Ledger(accepted: 1, purged: 1))
    }

    /// Waits before it removes something, so that deliveries can proceed.
    private struct LateRemoval: OutboxStoreDecorator {
        let base: any OutboxStore
        let isLate: @Sendable () -> Bool

        func remove(
            owedTo destination: Destination,
            as account: RemovalAccount
        ) async throws(ExperimentationError) -> Int {
            for _ in 0..<10_000 where !isLate() { await Task.yield() }
            return try await base.remove(owedTo: destination, as: account)
        }
    }

    @Test("P05 concurrent producers lose nothing during flushes")
    func producers() async throws {
        let vendor = ScriptedVendor(batching: BatchPolicy(count: 50, largest: 100, interval: .milliseconds(1)))
        let client = try await vendor.client(time: SystemTime())
        let each = isSoak ? 20_000 : 250
        try await withThrowingTaskGroup { group in
            for producer in 0..<16 {
                let session = client.session(for: User(id: "u\(producer)"))
                group.addTask { for number in 0..<each { try await session.track(.numbered(number)) } }
            }
            group.addTask { for _ in 0..<20 { try await client.flush() } }
            try await group.waitForAll()
        }
        try await eventually("an empty outbox") { try await client.flush().isDone }
        let lost = try await client.ledger().dropped[.overflow, default: 0]
        try await client.expectBalance(
            Ledger(
                accepted: 16 * each,
                delivered: 16 * each - lost,
                dropped: lost == 0 ? [:] : [.overflow: lost]
            )
        )
        #expect(Set(vendor.record.received.map(\.id)).count == 16 * each - lost)
        try expectOrder(of: vendor.record.received)
        await client.shutdown()
    }

    @Test("P06 a batch's events are distinct, and no more than its limit")
    func batches() async throws {
        let vendor = ScriptedVendor(
            batching: BatchPolicy(count: 7, largest: 20, bytes: 4_000, interval: .milliseconds(1))
        )
        let client = try await vendor.client(time: SystemTime())
        let total = isSoak ? 100_000 : 2_000
        try await withThrowingTaskGroup { group in
            for producer in 0..<4 {
                let session = client.session(for: User(id: "u\(producer)"))
                group.addTask { for number in 0..<(total / 4) { try await session.track(.numbered(number)) } }
            }
            group.addTask { for _ in 0..<50 { try await client.flush() } }
            try await group.waitForAll()
        }
        try await eventually("an empty outbox") { try await client.flush().isDone }
        for batch in vendor.record.batches {
            #expect(!batch.isEmpty && batch.count <= 20)
            #expect(Set(batch.map(\.id)).count == batch.count)
        }
        // Tracking is faster than a vendor with small batches; events without room in the store are counted as dropped.
        let ledger = try await client.ledger()
        #expect(vendor.record.received.count == total - ledger.dropped[.overflow, default: 0])
        await client.shutdown()
    }

    @Test("P07 each user's events arrive in order, whatever fails", arguments: 0..<(isSoak ? 200 : 12))
    func order(seed: Int) async throws {
        let dice = Dice(seed)
        let vendor = ScriptedVendor { batch in
            // At most one fault per call, and never one about the event itself.
            switch dice.below(8) {
            case 0: return DeliveryReport(.outage())
            case 1: return DeliveryReport(.outage(after: .seconds(3)))
            case 2: return DeliveryReport(noAnswerTo: batch.count)
            case 3 where batch.count > 1: return DeliveryReport(.split("too large"))
            case 4:
                // The connection broke in the middle.
                return DeliveryReport(Array(repeating: .delivered, count: batch.count / 2))
            default: return DeliveryReport(.delivered)
            }
        }
        let client = try await vendor.client(time: time, jitter: { dice.fraction() })
        let sessions = (0..<10).map { client.session(for: User(id: "u\($0)")) }
        for number in 0..<40 {
            for session in sessions { try await session.track(.numbered(number)) }
            if dice.below(4) == 0 { try await client.flush(retrying: false) }
            if dice.below(4) == 0 { time.advance(by: .seconds(30)) }
        }
        try await client.drain(time)
        try expectOrder(of: vendor.record.received)
        try await client.expectBalance(Ledger(accepted: 400, delivered: 400))
    }

    private func expectOrder(of received: [Envelope]) throws {
        var last: [String: Int] = [:]
        for envelope in received {
            let number = try #require(envelope.event.number)
            #expect(number > last[envelope.identity.id, default: -1])
            last[envelope.identity.id] = number
        }
    }

    @Test("P07 batches leased together keep each user's order when one of them fails")
    func orderAcrossBatches() async throws {
        let hasFailed = Shared(false)
        let vendor = ScriptedVendor(batching: BatchPolicy(count: 1_000, largest: 3, interval: .seconds(3_600))) {
            batch in
            let poison = hasFailed.value ? nil : batch.firstIndex { $0.event.number == 61 }
            if poison != nil { hasFailed.value = true }
            return DeliveryReport(batch.indices.map { $0 == poison ? .failed("HTTP 400") : .delivered })
        }
        let client = try await vendor.client(time: time)
        let sessions = (0..<3).map { client.session(for: User(id: "u\($0)")) }
        for number in 0..<200 { try await sessions[number % 3].track(.numbered(number)) }
        try await client.flush(retrying: false)
        // Only the user's events behind the failed one wait.
        #expect(vendor.record.received.compactMap(\.event.number) == (0..<200).filter { $0 < 61 || $0 % 3 != 1 })
        try await client.drain(time)
        try expectOrder(of: vendor.record.received)
        try await client.expectBalance(Ledger(accepted: 200, delivered: 200))
    }

    @Test("P13 one event that is too large is found in at most seventeen requests")
    func tooLarge() async throws {
        let vendor = ScriptedVendor(
            batching: BatchPolicy(count: 1_000, largest: 256, bytes: .max, interval: .seconds(60))
        ) { batch in
            let isTooLarge = batch.contains { $0.event.number == 131 }
            return DeliveryReport(isTooLarge ? .split("413") : .delivered)
        }
        let client = try await vendor.client(time: time)
        let session = client.session(for: User(id: "ada"))
        for number in 0..<256 { try await session.track(.numbered(number)) }
        #expect(try await client.flush().isDone)
        #expect(vendor.record.batches.count <= 17)
        #expect(vendor.record.received.compactMap(\.event.number) == (0..<256).filter { $0 != 131 })
        try await client.expectBalance(Ledger(accepted: 256, delivered: 255, dropped: [.rejected: 1]))
    }

    @Test("P14 a poison event never blocks the rest", arguments: [true, false])
    func poison(isWhole: Bool) async throws {
        let tries = Shared(0)
        let vendor = ScriptedVendor { batch in
            guard batch.contains(where: { $0.event.number == 357 }) else {
                return DeliveryReport(.delivered)
            }
            if batch.count == 1 { tries.change { $0 += 1 } }
            // Some vendors reject the whole batch, others the single event.
            if isWhole { return DeliveryReport(.failed("HTTP 400")) }
            return DeliveryReport(batch.map { $0.event.number == 357 ? .failed("HTTP 400") : .delivered })
        }
        let client = try await vendor.client(time: time)
        let sessions = (0..<4).map { client.session(for: User(id: "u\($0)")) }
        for number in 0..<1_000 { try await sessions[number % 4].track(.numbered(number)) }
        try await client.flush(retrying: false)
        // Other users' events arrive at once; those of the poison's user wait for its verdict.
        let others = (0..<1_000).filter { $0 % 4 != 1 }
        #expect(Set(vendor.record.received.compactMap(\.event.number)).isSuperset(of: others))
        try await client.drain(time)
        #expect(Set(vendor.record.received.compactMap(\.event.number)) == Set(0..<1_000).subtracting([357]))
        #expect(tries.value <= 3)
        try await client.expectBalance(Ledger(accepted: 1_000, delivered: 999, dropped: [.exhausted: 1]))
        try await sessions[1].track(.numbered(1_000))
        #expect(try await client.flush().isDone)
    }

    @Test("P14 while one user's event waits for its next attempt, others' are delivered without delay")
    func poisonDoesNotSlow() async throws {
        let vendor = ScriptedVendor(batching: BatchPolicy(count: 1, interval: .seconds(1))) { batch in
            DeliveryReport(batch.map { $0.identity.id == "mallory" ? .failed("HTTP 400") : .delivered })
        }
        let client = try await vendor.client(time: time, jitter: { 1 })
        try await client.session(for: User(id: "mallory")).track(.numbered(1))
        try await client.flush(retrying: false)
        try await client.session(for: User(id: "ada")).track(.numbered(2))
        // Time is stopped: the event itself starts the delivery.
        try await eventually("a delivery") { !vendor.record.received.isEmpty }
        #expect(vendor.record.received.compactMap(\.event.number) == [2])
    }

    @Test("P15 an outage of a day loses nothing and counts no attempt")
    func outage() async throws {
        let isUp = Shared(false)
        let vendor = ScriptedVendor { _ in
            DeliveryReport(isUp.value ? .delivered : .outage())
        }
        let client = try await vendor.client(time: time)
        let session = client.session(for: User(id: "ada"))
        for number in 0..<5_000 { try await session.track(.numbered(number)) }
        try await client.flush(retrying: false)
        for _ in 0..<(24 * 12) {
            await time.waitForSleepers(1)
            time.advance(by: .seconds(300))
        }
        #expect(vendor.record.batches.count > 50)
        try await client.expectBalance(Ledger(accepted: 5_000, pending: 5_000))
        isUp.value = true
        try await client.drain(time)
        #expect(vendor.record.received.allSatisfy { $0.attempts == 0 })
        #expect(vendor.record.received.compactMap(\.event.number) == Array(0..<5_000))
        try await client.expectBalance(Ledger(accepted: 5_000, delivered: 5_000))
    }

    @Test("P12 nothing is sent before the time that the vendor asked for, not even by a flush")
    func retryAfter() async throws {
        let vendor = ScriptedVendor { _ in DeliveryReport(.outage(after: .seconds(40))) }
        let client = try await vendor.client(time: time)
        try await client.session(for: User(id: "ada")).track(.numbered(1))
        #expect(try await !client.flush().isDone)
        try await client.session(for: User(id: "bob")).track(.numbered(2))
        time.advance(by: .seconds(39))
        #expect(try await !client.flush(retrying: false).isDone)
        #expect(vendor.record.batches.count == 1)
        vendor.answer { _ in DeliveryReport(.delivered) }
        time.advance(by: .seconds(1))
        #expect(try await client.flush().isDone)
        #expect(vendor.record.received.count == 2)
    }

    @Test("P12 a flush waits as long as the vendor asks within its deadline, and continues")
    func patientFlush() async throws {
        let answers: [Verdict] = [.outage(after: .seconds(2)), .outage(), .failed("HTTP 400")]
        let calls = Shared(0)
        let vendor = ScriptedVendor { _ in
            let call = calls.value
            calls.change { $0 += 1 }
            return DeliveryReport(call < answers.count ? answers[call] : .delivered)
        }
        let client = try await vendor.client(time: time)
        let start = time.instant
        try await client.session(for: User(id: "ada")).track(.numbered(1))
        let flushing = Task { try await client.flush(within: .seconds(30)).isDone }
        var asked: [Duration] = []
        try await eventually("the event is taken") {
            if asked.count < vendor.record.batches.count { asked.append(start.duration(to: time.instant)) }
            // Advances time in small steps while a task sleeps.
            if time.untilNextWake ?? .seconds(30) < .seconds(25) { time.advance(by: .milliseconds(100)) }
            return !vendor.record.received.isEmpty
        }
        #expect(try await flushing.value)
        #expect(asked.count >= 3 && asked[1] >= .seconds(2) && asked[2] >= asked[1] + .milliseconds(100), "\(asked)")
        #expect(start.duration(to: time.instant) < .seconds(10))
        try await client.expectBalance(Ledger(accepted: 1, delivered: 1))
    }

    @Test("P25 a flush ends early if everything left is due after its deadline")
    func hopelessFlush() async throws {
        let vendor = ScriptedVendor { _ in DeliveryReport(.outage(after: .seconds(40))) }
        let client = try await vendor.client(time: time)
        try await client.session(for: User(id: "ada")).track(.numbered(1))
        // Time is stopped, so a flush that waited would never end.
        #expect(try await !client.flush(within: .seconds(39)).isDone)
        #expect(vendor.record.batches.count == 1)
    }

    @Test("P11 a flush sends few requests to an unavailable vendor", arguments: [0, 0.05, 0.5, 0.999])
    func calmFlush(jitter: Double) async throws {
        let vendor = ScriptedVendor { _ in DeliveryReport(.outage()) }
        let client = try await vendor.client(time: time, jitter: { jitter })
        try await client.session(for: User(id: "ada")).track(.numbered(1))
        let start = time.instant
        let isOver = Shared(false)
        let flushing = Task {
            defer { isOver.value = true }
            return try await client.flush(within: .seconds(10)).isDone
        }
        // Time advances only after the first request, so that it doesn't run past the flush.
        try await eventually("a batch") { !vendor.record.batches.isEmpty }
        try await eventually("the flush ends") {
            // Advances only while both the flush and the delivery sleep, so that no work is in between.
            if time.sleepers > 1 { time.advance(by: .milliseconds(100)) }
            return isOver.value
        }
        #expect(try await !flushing.value)
        #expect(start.duration(to: time.instant) <= .seconds(11))
        // The waits double.
        #expect((2...12).contains(vendor.record.batches.count), "\(vendor.record.batches.count)")
    }

    @Test(
        "P11 an unavailable vendor is tried again after a pause, even with a jitter of zero and no requested wait",
        arguments: [nil, Duration.zero, .seconds(-5)]
    )
    func pausesAlways(asked: Duration?) async throws {
        let vendor = ScriptedVendor(batching: BatchPolicy(count: 1)) { _ in DeliveryReport(.outage(after: asked)) }
        let client = try await vendor.client(time: time, jitter: { 0 })
        try await client.session(for: User(id: "ada")).track(.numbered(1))
        for expected in [100, 200, 400] {
            try await eventually("a pause", within: .seconds(20)) { time.untilNextWake != nil }
            let wait = time.untilNextWake
            #expect(wait == .milliseconds(expected))
            time.advance(by: wait ?? .zero)
        }
        try await eventually("the fourth attempt") { vendor.record.batches.count == 4 }
        await client.shutdown(within: .zero)
    }

    @Test("after rejected credentials a probe is sent after a quarter of an hour, then at growing intervals")
    func probing() async throws {
        let isMended = Shared(false)
        let vendor = ScriptedVendor { _ in
            let refusal = Verdict.stop(ExperimentationError(.unauthorized, "The key was refused."))
            return DeliveryReport(isMended.value ? .delivered : refusal)
        }
        let client = try await vendor.client(time: time)
        let session = client.session(for: User(id: "ada"))
        for number in 0..<10 { try await session.track(.numbered(number)) }
        #expect(try await !client.flush().isDone)
        var waits: [Duration] = []
        for probe in 1...7 {
            let wait = try #require(time.untilNextWake)
            waits.append(wait)
            time.advance(by: wait - .seconds(1))
            for _ in 0..<100 { await Task.yield() }
            #expect(vendor.record.batches.count == probe)
            time.advance(by: .seconds(1))
            try await eventually("the next probe") { vendor.record.batches.count != probe }
            await time.waitForSleepers(1)
        }
        // With a jitter of one half, the waits are in the middle of their range.
        #expect(waits == [900, 1_800, 3_600, 7_200, 14_400, 14_400, 14_400].map { .seconds($0) })
        #expect(vendor.record.batches.map(\.count) == [10, 1, 1, 1, 1, 1, 1, 1])
        #expect(client.status == .error)
        isMended.value = true
        time.advance(by: .seconds(14_400))
        try await eventually("ten deliveries") { vendor.record.received.count >= 10 }
        #expect(vendor.record.received.compactMap(\.event.number) == Array(0..<10))
        #expect(try await client.flush().isDone)
        #expect(client.status == .ready)
        try await client.expectBalance(Ledger(accepted: 10, delivered: 10))
    }

    @Test("deliveries stopped by rejected credentials resume when the application says so")
    func resumed() async throws {
        let isMended = Shared(false)
        let vendor = ScriptedVendor { _ in
            let refusal = Verdict.stop(ExperimentationError(.unauthorized, "The key was refused."))
            return DeliveryReport(isMended.value ? .delivered : refusal)
        }
        let client = try await vendor.client(time: time)
        let session = client.session(for: User(id: "ada"))
        for number in 0..<3 { try await session.track(.numbered(number)) }
        #expect(try await !client.flush().isDone)
        // Resumed before the cause is fixed, delivery is refused again.
        await client.resumeDelivery()
        #expect(try await !client.flush().isDone)
        #expect(vendor.record.batches.count == 2)
        isMended.value = true
        await client.resumeDelivery()
        #expect(try await client.flush().isDone)
        #expect(vendor.record.received.count == 3)
        #expect(client.status == .ready)
    }

    @Test("rejected credentials stop deliveries, keep everything and are reported")
    func stopped() async throws {
        let vendor = ScriptedVendor { _ in
            DeliveryReport(.stop(ExperimentationError(.unauthorized, "The key was refused.")))
        }
        let store = ClientStore.inMemory()
        let client = try await vendor.client(store: store, time: time)
        let session = client.session(for: User(id: "ada"))
        try await session.track(.numbered(1))
        #expect(try await !client.flush().isDone)
        try await session.track(.numbered(2))
        #expect(try await !client.flush().isDone)
        #expect(vendor.record.batches.count == 1)
        #expect(client.status == .error)
        #expect(try await client.outboxStatus().failures.keys.contains { $0.contains("UNAUTHORIZED") })
        await client.shutdown()
        // The next run tries again.
        let mended = ScriptedVendor()
        let next = try await mended.client(store: store, time: time)
        #expect(try await next.flush().isDone)
        #expect(mended.record.received.count == 2)
    }

    @Test("an event older than the vendor accepts is dropped and counted; a clock set ahead makes no event old")
    func expiry() async throws {
        let vendor = ScriptedVendor(
            batching: BatchPolicy(count: 100, interval: .seconds(60), maximumAge: .seconds(14_400))
        ) { _ in DeliveryReport(.outage()) }
        let client = try await vendor.client(time: time)
        let session = client.session(for: User(id: "ada"))
        try await session.track(.numbered(1))
        time.setNow(time.now + 3_650 * 86_400)
        try await client.flush(retrying: false)
        try await client.expectBalance(Ledger(accepted: 1, pending: 1))
        time.advance(by: .seconds(14_401))
        try await session.track(.numbered(2))
        vendor.answer { _ in DeliveryReport(.delivered) }
        try await client.drain(time)
        #expect(vendor.record.received.compactMap(\.event.number) == [2])
        try await client.expectBalance(Ledger(accepted: 2, delivered: 1, dropped: [.expired: 1]))
    }

    @Test("P23 clock jumps neither lose nor reorder events, nor delay them long", arguments: 0..<(isSoak ? 500 : 25))
    func clockJumps(seed: Int) async throws {
        let dice = Dice(seed)
        let vendor = ScriptedVendor { _ in
            DeliveryReport(dice.below(3) == 0 ? .outage(after: .seconds(dice.below(600))) : .delivered)
        }
        let client = try await vendor.client(time: time, jitter: { dice.fraction() })
        let session = client.session(for: User(id: "ada"))
        let jumps: [Double] = [-86_400, 86_400, -3_650 * 86_400, 3_650 * 86_400, -1, 1]
        for number in 0..<40 {
            try await session.track(.numbered(number))
            if dice.below(3) == 0 { time.setNow(time.now + jumps[dice.below(jumps.count)]) }
            if dice.below(3) == 0 { try await client.flush(retrying: false) }
            time.advance(by: .seconds(dice.below(60)))
        }
        vendor.answer { _ in DeliveryReport(.delivered) }
        // No wait exceeds five minutes, whatever the clock says. A request in flight may still get the earlier answer,
        // and cause one more wait.
        var isDone = false
        for _ in 0..<2 where !isDone {
            time.advance(by: .seconds(301))
            isDone = try await client.flush(retrying: false).isDone
        }
        #expect(isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == Array(0..<40))
        try await client.expectBalance(Ledger(accepted: 40, delivered: 40))
    }

    @Test("P23 a clock that is wrong only during a delivery delays nothing")
    func clockWrongMeanwhile() async throws {
        let time = time
        let vendor = ScriptedVendor { _ in
            time.setNow(time.now + 3_650 * 86_400)
            return DeliveryReport(.outage())
        }
        let client = try await vendor.client(time: time)
        try await client.session(for: User(id: "ada")).track(.numbered(1))
        #expect(try await client.flush(retrying: false).isDone == false)
        time.setNow(time.now - 3_650 * 86_400)
        vendor.answer { _ in DeliveryReport(.delivered) }
        time.advance(by: .seconds(301))
        #expect(try await client.flush(retrying: false).isDone)
        try await client.expectBalance(Ledger(accepted: 1, delivered: 1))
    }

    @Test(
        "P23 a clock that is corrected during a delivery delays nothing",
        arguments: [
            Verdict.outage(), .outage(after: .seconds(10)), .failed("busy"),
        ],
        [-86_400, 86_400.0]
    )
    func clockCorrectedMeanwhile(verdict: Verdict, jump: Double) async throws {
        let time = time
        let isCorrected = Shared(false)
        let vendor = ScriptedVendor { _ in
            if !isCorrected.value { time.setNow(time.now + jump) }
            isCorrected.value = true
            return DeliveryReport(verdict)
        }
        let client = try await vendor.client(time: time)
        try await client.session(for: User(id: "ada")).track(.numbered(1))
        #expect(try await client.flush(retrying: false).isDone == false)
        vendor.answer { _ in DeliveryReport(.delivered) }
        time.advance(by: .seconds(301))
        #expect(try await client.flush(retrying: false).isDone)
        try await client.expectBalance(Ledger(accepted: 1, delivered: 1))
    }

    @Test("a flush without retries runs its own round after the current delivery")
    func flushBehindAnother() async throws {
        let store = SlowLease()
        let vendor = ScriptedVendor(batching: BatchPolicy(count: 1)) { _ in DeliveryReport(.outage()) }
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()), time: time)
        let session = client.session(for: User(id: "ada"))
        try await session.track(.numbered(1))
        await store.untilLeased()
        try await session.track(.numbered(2))
        async let flushed = client.flush(retrying: false).isDone
        for _ in 0..<100 { await Task.yield() }
        store.goOn()
        #expect(try await flushed == false)
        #expect(vendor.record.batches.map { $0.compactMap(\.event.number) } == [[1], [1]])
    }

    @Test("P25 flush and shutdown end by their deadline with a vendor that hangs")
    func bounded() async throws {
        let vendor = ScriptedVendor { batch in
            // Ignores cancellation.
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                DispatchQueue.global().asyncAfter(deadline: .now() + 600) { continuation.resume() }
            }
            return DeliveryReport(.delivered)
        }
        let client = try await vendor.client(time: SystemTime())
        let session = client.session(for: User(id: "ada"))
        try await session.track(.numbered(1))
        let clock = ContinuousClock()
        // Next to other tests, a task may wait for its turn; the vendor hangs much longer than that.
        let grace: Duration = isSoak ? .milliseconds(100) : .seconds(60)
        for _ in 0..<(isSoak ? 50 : 5) {
            var isDone = true
            let took = try await clock.measure { isDone = try await client.flush(within: .milliseconds(20)).isDone }
            #expect(!isDone)
            #expect(took >= .milliseconds(20) && took <= .milliseconds(20) + grace, "\(took)")
        }
        let took = await clock.measure { await client.shutdown(within: .milliseconds(50)) }
        #expect(took <= .milliseconds(50) + grace, "\(took)")
        await #expect(throws: ExperimentationError.self) { try await session.track(.numbered(2)) }
        try await client.expectBalance(Ledger(accepted: 1, pending: 1))
    }
}
