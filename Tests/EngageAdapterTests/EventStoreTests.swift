import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization
import Testing
import Waiting

@testable import EngageAdapter

@Suite("The event store")
struct EventStoreTests {
    let bench = EngageWorkbench()

    private func start(
        _ change: (inout EngageConfiguration) -> Void = { _ in }
    ) async throws -> (ExperimentationClient, UserSession, EngageEventStore) {
        let engage = bench.engage(change)
        let client = try await bench.client(engage)
        return (client, client.session(for: User(id: "u")), engage.eventStore(of: client))
    }

    @Test("an event is found by its id while it waits, after delivery, and by the next run")
    func lookUp() async throws {
        let (client, session, events) = try await start()
        let id = try await session.trackWithID(.goalCompleted("G"))
        let waiting = EngageEvent(id: id, type: .goalCompleted, date: bench.time.now, state: .notPosted)
        #expect(try await events.event(id: id) == waiting)
        #expect(try await events.event(id: "another") == nil)
        try await client.flush()
        let (_, _, again) = try await start()
        for store in [events, again] {
            let found = try #require(try await store.event(id: id))
            #expect(found.type == .goalCompleted && found.state == .successfullyPosted && found.reason == nil)
            #expect(abs(found.date.timeIntervalSince(bench.time.now)) < 0.001)
        }
    }

    @Test("an event that is rejected for the third time has failed, with its reason, and not before")
    func failed() async throws {
        let (client, session, events) = try await start()
        bench.plan(.status(400), on: "events", times: 3)
        let id = try await session.trackWithID(.custom("bad"))
        for attempt in 1...3 {
            try await client.flush(retrying: false)
            let found = try #require(try await events.event(id: id))
            #expect(found.state == (attempt < 3 ? .notPosted : .failedPost), "after attempt \(attempt)")
            #expect(found.reason?.isEmpty == false)
            // From here on, a timer may make the next attempt, too.
            bench.time.advance(by: .seconds(600))
        }
        #expect(try await events.events(in: [.failedPost]).map(\.id) == [id])
        #expect(try await events.unpostedCount() == 0)
    }

    @Test("events are listed by state and counted by kind")
    func queries() async throws {
        let (client, session, events) = try await start()
        try await session.track(.custom("1"))
        try await session.track(.goalCompleted("2"))
        try await client.flush()
        await client.setConnectivity(.offline)
        try await session.track(.custom("3"))
        try await session.track(.custom("4"))
        #expect(
            try await events.events().map(\.state) == [
                .successfullyPosted, .successfullyPosted, .notPosted, .notPosted,
            ]
        )
        #expect(try await events.events(in: [.successfullyPosted]).map(\.type) == [.namedEvent, .goalCompleted])
        #expect(try await events.count() == 4)
        #expect(try await events.count(of: .namedEvent) == 3)
        #expect(try await events.count(of: .installed) == 0)
        #expect(try await events.unpostedEvents().map(\.type) == [.namedEvent, .namedEvent])
        #expect(try await events.unpostedCount() == 2)
    }

    @Test("an event shows that plug-ins are at work, that it is being posted, and that it was posted without one")
    func statesUnderWay() async throws {
        let gate = Gate()
        let (client, session, events) = try await start {
            $0.augmentation.plugins = [gate]
            $0.augmentation.timeout = .seconds(15)
        }
        bench.plan(.lostBefore, on: "events")
        let id = try await session.trackWithID(.custom("1"))
        let flush = Task { try await client.flush(retrying: false) }
        await gate.asked()
        #expect(try await events.event(id: id)?.state == .hold)
        bench.time.advance(by: .seconds(16))
        _ = try await flush.value
        #expect(try await events.event(id: id)?.state == .expired)
        #expect(try await events.unpostedCount() == 1)
        // Held before time passes, so that a timer's delivery can't complete before it is checked.
        bench.hold("events")
        bench.time.advance(by: .seconds(600))
        let posting = Task { try await client.flush(retrying: false) }
        try await bench.isHolding()
        #expect(try await events.event(id: id)?.state == .processing)
        #expect(try await client.ledger().pending == 1)
        bench.letGo()
        _ = try await posting.value
        #expect(try await events.event(id: id)?.state == .successfullyPosted)
        #expect(try await bench.behaviors().count == 1)
    }

    @Test("E68 an event with plug-ins at work when the process ended is completed and posted by the next one")
    func endedInHold() async throws {
        let gate = Gate()
        let (client, session, events) = try await start { $0.augmentation.plugins = [gate] }
        let id = try await session.trackWithID(.custom("1"))
        let flush = Task { try await client.flush(retrying: false) }
        await gate.asked()
        #expect(try await events.event(id: id)?.state == .hold)
        await client.setConnectivity(.offline)
        await client.shutdown(within: .zero)
        _ = try await flush.value
        #expect(bench.exchanges("events").isEmpty)
        bench.time.advance(by: .seconds(3_600))
        let (next, _, after) = try await start { $0.augmentation.plugins = [Stamp()] }
        try await next.flush(retrying: false)
        #expect(try await after.event(id: id)?.state == .successfullyPosted)
        #expect(try await bench.behaviors().map { $0["Stamp"] } == ["yes"])
    }

    /// A plug-in that is always ready.
    private struct Stamp: AugmentationPlugin {
        let isSynchronous = true
        func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness { .ready }
        func process(_ event: AugmentedEvent) -> AugmentedEvent {
            var event = event
            event["Stamp"] = "yes"
            return event
        }
    }

    @Test("deleting everything leaves nothing to post and nothing to find, and the ledgers balance")
    func removeAll() async throws {
        let (client, session, events) = try await start()
        let delivered = try await session.trackWithID(.custom("1"))
        try await client.flush()
        await client.setConnectivity(.offline)
        for name in ["2", "3"] { try await session.track(.custom(name)) }
        try await client.session(for: User(id: "somebody else")).track(.custom("4"))
        try await events.removeAll()
        #expect(try await events.events().isEmpty)
        #expect(try await events.event(id: delivered) == nil)
        #expect(try await client.ledger() == Ledger(accepted: 4, delivered: 1, purged: 3))
        let (_, _, again) = try await start()
        #expect(try await again.events().isEmpty)
        // Consent wasn't withdrawn, so further events are accepted.
        await client.setConnectivity(.online)
        try await session.track(.custom("5"))
        try await client.flush()
        #expect(try await bench.behaviors().map { $0["Event Name"] } == ["1", "5"])
    }

    @Test("events settled before the days of retention can be forgotten")
    func removeExpired() async throws {
        let (client, session, events) = try await start()
        try await session.track(.custom("old"))
        try await client.flush()
        bench.time.advance(by: .seconds(86_400 * 20))
        try await session.track(.goalCompleted("new"))
        try await client.flush()
        #expect(try await events.removeExpired() == 0)
        bench.time.advance(by: .seconds(86_400 * 11))
        #expect(try await events.removeExpired() == 1)
        #expect(try await events.events().map(\.type) == [.goalCompleted])
        let (_, _, again) = try await start()
        #expect(try await again.events().map(\.type) == [.goalCompleted])
    }

    @Test("an event that is settled while old ones are being forgotten is remembered")
    func settledMeanwhile() async throws {
        let store = GatedStateStore()
        @Sendable func entry(_ id: String, at seconds: Double) -> EngageEvent {
            EngageEvent(id: id, type: 17, date: Date(timeIntervalSince1970: seconds), state: .successfullyPosted)
        }
        try await EngageJournal(store: store.baseState, prefix: "j/").note([entry("old", at: 0)])
        let journal = EngageJournal(store: store, prefix: "j/")
        let first = Task { try await journal.note([entry("first", at: 100)]) }
        try await eventually("the first event") { try await journal.entries().count == 2 }
        let second = Task { try await journal.note([entry("second", at: 101)]) }
        try await eventually("the second event in line") { journal.waiting == 1 }
        let forgetting = Task { try await journal.forget(before: Date(timeIntervalSince1970: 50)) }
        try await eventually("the forgetting in line") { journal.waiting == 2 }
        store.gate.open()
        try await first.value
        try await second.value
        #expect(try await forgetting.value == 1)
        let kept = [entry("first", at: 100), entry("second", at: 101)]
        #expect(try await journal.entries() == kept)
        #expect(try await EngageJournal(store: store, prefix: "j/").entries() == kept)
    }

    /// A store that removes nothing.
    private struct StickyStore: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()

        func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
            throw ExperimentationError(.store, "nothing is removed")
        }
    }

    @Test("if the store can't remove old events, all stay")
    func unremoved() async throws {
        let journal = EngageJournal(store: StickyStore(), prefix: "j/")
        let entries = [0.0, 100].map { seconds in
            EngageEvent(id: "", type: 17, date: Date(timeIntervalSince1970: seconds), state: .successfullyPosted)
        }
        try await journal.note(entries)
        await #expect(throws: ExperimentationError.self) {
            try await journal.forget(before: Date(timeIntervalSince1970: 50))
        }
        #expect(try await journal.entries() == entries)
    }

    @Test("the latest thousand are remembered, in order and across restarts", arguments: [1, 7, 64, 100, 1_500])
    func journal(batch: Int) async throws {
        let store = InMemoryStateStore()
        let journal = EngageJournal(store: store, prefix: "j/")
        let all = (0..<2_000).map { number -> EngageEvent in
            let isDelivered = number % 3 != 0
            return EngageEvent(
                id: "id-\(number)",
                type: 17,
                date: Date(timeIntervalSince1970: Double(number)),
                state: isDelivered ? .successfullyPosted : .failedPost,
                reason: isDelivered ? nil : "refused"
            )
        }
        for start in stride(from: 0, to: all.count, by: batch) {
            let end = min(start + batch, all.count)
            try await journal.note(Array(all[start..<end]))
        }
        let kept = try await journal.entries()
        #expect(kept.count >= EngageJournal.length)
        #expect(kept == Array(all.suffix(kept.count)))
        #expect(try await store.keys(beginningWith: "j/").count <= EngageJournal.segmentCount)
        let again = EngageJournal(store: store, prefix: "j/")
        #expect(try await again.entries() == kept)
        // An unreadable segment takes the ones before it with it.
        let last = all.count / EngageJournal.segmentLength
        let segment = (last - 2) % EngageJournal.segmentCount
        try await store.setValue(Array("nonsense".utf8), for: "j/" + String(segment))
        let damaged = try await EngageJournal(store: store, prefix: "j/").entries()
        #expect(damaged == Array(all.suffix(damaged.count)))
        #expect(damaged.count < kept.count && !damaged.isEmpty)
    }

    /// A plug-in that is never ready, and signals when it was first asked.
    private final class Gate: AugmentationPlugin {
        let isSynchronous = true
        private let asking = AsyncStream<Void>.makeStream()

        func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness {
            asking.continuation.yield()
            return .notYet
        }
        func process(_ event: AugmentedEvent) -> AugmentedEvent { event }
        func asked() async { for await _ in asking.stream { return } }
    }

    @Test("a segment with an impossibly high number counts as unreadable", arguments: [Int.max, .max - 65])
    func unreachableNumber(_ first: Int) async throws {
        let store = InMemoryStateStore()
        try await store.setValue(Array("\(first)".utf8), for: "j/0")
        let journal = EngageJournal(store: store, prefix: "j/")
        let event = EngageEvent(id: "new", type: 17, date: .distantPast, state: .successfullyPosted)
        try await journal.note([event])
        #expect(try await journal.entries().map(\.id) == ["new"])
    }
}
