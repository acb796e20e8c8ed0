import Experimentation
import ExperimentationSQLite
import Foundation
import GRDB
import Testing
import Waiting

@Suite("The outbox equals its model")
struct OutboxModelTests {
    @Test("P04 P09 P23 any sequence of operations leaves the model's state", arguments: 0..<(isSoak ? 2_000 : 60))
    func matches(seed: Int) async throws {
        // Odd seeds use the in-memory store, which has no restarts and nothing to corrupt.
        let run = try ModelRun(seed: seed, isDurable: seed.isMultiple(of: 2))
        try await run.begin()
        for step in 0..<(isSoak ? 200 : 120) {
            try await run.step()
            let found = try await run.differences()
            if !found.isEmpty {
                Issue.record("seed \(seed), step \(step): \(run.log.suffix(30)) \(found)")
                return
            }
        }
    }

    @Test(
        "P04 P08 P76 sequences in which evicted events keep their rows for a while leave the model's state",
        arguments: 0..<(isSoak ? 1_000 : 8)
    )
    func matchesLater(seed: Int) async throws {
        let run = try ModelRun(seed: seed, isDurable: true, evictedShare: 2)
        try await run.begin()
        for step in 0..<(isSoak ? 400 : 200) {
            try await run.step()
            // Looking deletes the rows.
            let found = step % 10 == 9 ? try await run.differences() : run.wrongAnswers()
            if !found.isEmpty {
                Issue.record("seed \(seed), step \(step): \(run.log.suffix(30)) \(found)")
                return
            }
        }
    }
}

/// A store and its model, which undergo the same operations.
private final class ModelRun {
    private static let places: [Destination] = [.home, .away]

    private let folder = TemporaryFolder()
    private let limits: StoreLimits
    private let isDurable: Bool
    private var dice: SplitMix
    private var store: any OutboxStore
    private var model: OutboxModel
    private var now = noon
    private var next = 0
    /// Each owner's last lease at each destination, with the events not yet settled.
    private var inHand: [[Int64: (token: LeaseToken, holding: OutboxModel.Holding, events: [Envelope])]] = [[:], [:]]
    private var wrong: [String] = []
    private(set) var log: [String] = []

    init(seed: Int, isDurable: Bool, evictedShare: Int = 128) throws {
        dice = SplitMix(seed: seed)
        let most = Int.random(in: 3...30, using: &dice)
        var limits = StoreLimits(maximumCount: most)
        limits.evictedShare = evictedShare
        self.limits = limits
        self.isDurable = isDurable
        store = try (isDurable ? StoreKind.sqlite : .memory).open(folder, limits: limits)
        model = OutboxModel(most: most)
    }

    /// Registers the destinations in order.
    func begin() async throws {
        for (place, destination) in Self.places.enumerated() {
            let event = NewEvent(.sample("first-\(place)", user: "x"), to: destination)
            _ = try await store.append([event], now: now)
            _ = model.append(event, [place], now: now)
        }
    }

    private func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &dice) }
    private func user() -> String { "u\(number(0..<4))" }

    private func expect<Value: Equatable>(_ actual: Value, _ expected: Value) {
        if actual != expected { wrong.append("\(actual) instead of \(expected)") }
    }

    func step() async throws {
        switch number(0..<24) {
        case 0..<7: for _ in 0...number(0..<3) { try await append() }
        case 7..<12: try await lease()
        case 12..<16: try await settle()
        case 16: try await release()
        case 17..<20:
            let change = ConsentChange(userID: user(), isGranted: number(0..<3) > 0)
            log.append("\(change)")
            expect(try await store.setConsent([change]), model.setConsent(change.userID, isGranted: change.isGranted))
        case 20:
            let (place, date) = (number(0..<2), now - Double(number(0..<300)))
            log.append("expire \(place) \(date)")
            let expired = try await store.expire(before: date, owedTo: Self.places[place], now: now)
            expect(expired, model.expire(before: date, place, now: now))
        case 21..<23:
            now += [30, 30, 86_400, -86_400, -30][number(0..<5)]
            log.append("now \(now)")
        default: if isDurable { try await restart() }
        }
    }

    // MARK: Operations

    /// Appends one event at a time: for calls larger than the store's limit, the order of drops is undefined.
    private func append() async throws {
        let kinds: [TrackingEvent] = [
            .screenView("home"), .custom("a"), .custom("b"), .purchase(Order(id: "o", total: 1)),
            TrackingEvent(.consentChanged(granted: false)),
        ]
        next += 1
        let places = [[0], [1], [0, 1], [1, 0]][number(0..<4)]
        let event = NewEvent(
            .sample("\(next)", user: user(), kinds[number(0..<kinds.count)], at: now),
            owedTo: places.map { .init(to: Self.places[$0], isHeld: number(0..<5) == 0) },
            grantsConsent: number(0..<8) == 0
        )
        log.append("append \(next) of \(event.envelope.identity.id) \(event.deliveries.map(\.isHeld)) to \(places)")
        let isAccepted = try await store.append([event], now: now) == [nil]
        expect(isAccepted, model.append(event, places, now: now))
    }

    private func lease() async throws {
        let (place, owner) = (number(0..<2), Int64(number(1..<3)))
        let last = number(0..<3) == 0 ? inHand[place][owner] : nil
        let request = LeaseRequest(
            for: Self.places[place],
            owner: owner,
            batches: number(1..<3),
            of: number(1..<6),
            now: now,
            until: now + Double(number(1..<100)),
            after: last?.token
        )
        log.append("lease \(place) by \(owner) \(last == nil ? "" : "behind") \(request.batches) of \(request.count)")
        let expected = model.lease(place, request, goingOn: last?.holding)
        switch (try await store.lease(request), expected) {
        case (.leased(let lease), .given(let ids, let holding)):
            expect(lease.ids, ids)
            expect(lease.batches.allSatisfy { !$0.isEmpty && $0.count <= request.count }, true)
            let before = last.map(\.events) ?? []
            inHand[place][owner] = (lease.token, holding, before + lease.events)
            let (left, next) = model.next(place, request, isGoingOn: last != nil)
            // With unreadable events the rest is known only once they are dropped.
            if case .nothing(let date)? = lease.rest { expect([date], left.isEmpty ? [next] : []) }
        case (.nothing(let date), .nothing(let other)): expect(date, other)
        case (.busy(let date), .busy(let other)): expect(date, other)
        case (.paused(let date), .paused(let other)): expect(date, other)
        case (.lost, .lost): break
        case (let answer, let expected): wrong.append("\(answer) instead of \(expected)")
        }
    }

    private func settle() async throws {
        let (place, owner) = (number(0..<2), Int64(number(1..<3)))
        guard var last = inHand[place][owner] else { return }
        var settlements: [Settlement] = []
        while let envelope = last.events.popLast(), number(0..<4) > 0 {
            let outcomes: [Settlement.Outcome] = [
                .delivered, .delivered, .delivered, .dropped(.rejected, detail: ""),
                .retry(at: now + Double(number(0..<200)), attempts: next, reason: "r"),
            ]
            settlements.append(Settlement(of: envelope, outcomes[number(0..<5)]))
        }
        inHand[place][owner]?.events = last.events
        log.append("settle \(place) by \(owner) \(settlements.map { ($0.id, $0.outcome) })")
        let isCurrent = try await store.settle(settlements, under: last.token, now: now)
        expect(isCurrent, model.settle(place, settlements, last.holding, now: now))
        expect(try await store.isCurrent(last.token), isCurrent)
    }

    private func release() async throws {
        let (place, owner) = (number(0..<2), Int64(number(1..<3)))
        guard let last = inHand[place][owner] else { return }
        let pause = number(0..<2) == 0 ? now + Double(number(1..<100)) : nil
        log.append("release \(place) by \(owner) \(String(describing: pause))")
        let why = pause.map { DeliveryPause(until: $0, reason: "HTTP 503", through: 0) }
        try await store.release(last.token, pause: why, now: now)
        model.release(place, last.holding, pause: pause, now: now)
    }

    /// Closes and reopens the store, every other time with an unreadable row.
    private func restart() async throws {
        log.append("restart")
        await (store as? SQLiteStore)?.close()
        // No other process has the file, so all leases are void.
        for place in model.lanes.indices {
            model.lanes[place].owner = 0
            model.lanes[place].out = 0
        }
        if Bool.random(using: &dice), let victim = model.rows.indices.randomElement(using: &dice) {
            log.append("corrupts \(model.rows[victim].id)")
            model.rows[victim].isReadable = false
            let database = try DatabaseQueue(path: folder.file().path)
            try await database.write { [sequence = model.rows[victim].sequence] database in
                try database.execute(
                    sql: "UPDATE event SET body = substr(body, 1, length(body) / 2) WHERE sequence = ?",
                    arguments: [sequence]
                )
            }
            try database.close()
        }
        store = try SQLiteStore(at: folder.file(), options: .init(limits: limits))
    }

    // MARK: Comparing

    /// The current differences from the model.
    func differences() async throws -> [String] {
        for (place, destination) in Self.places.enumerated() {
            var expected = model.lanes[place].ledger
            expected.pending = model.rows.count { $0.deliveries[place] != nil }
            expect(try await store.ledger(of: destination), expected)
            expect(expected.isBalanced, true)
            expect(try await counts(destination), modelCounts(place))
        }
        let waiting = try await store.waiting(after: 0, limit: 1_000).map { event in
            "\(event.envelope.sequence) \(event.envelope.id) \(event.deliveries.map { "\($0.destination.provider) \($0.isHeld) \($0.attempts)" })"
        }
        let expected = model.rows.filter(\.isReadable).map { row in
            let deliveries = row.deliveries.sorted { $0.key < $1.key }.map { place, delivery in
                "\(Self.places[place].provider) \(delivery.isHeld) \(delivery.attempts)"
            }
            return "\(row.sequence) \(row.id) \(deliveries)"
        }
        expect(waiting, expected)
        return wrongAnswers()
    }

    /// The answers of the store since the last call that weren't the model's.
    func wrongAnswers() -> [String] {
        defer { wrong = [] }
        return wrong
    }

    private func counts(_ destination: Destination) async throws -> [Int] {
        let status = try await store.status(of: destination, now: now)
        return [status.ready, status.held, status.delayed, status.leased]
    }

    private func modelCounts(_ place: Int) -> [Int] {
        var counts = [0, 0, 0, 0]
        let lane = model.lanes[place]
        for row in model.rows {
            guard let delivery = row.deliveries[place] else { continue }
            if delivery.isHeld {
                counts[1] += 1
            } else if delivery.wait.isOn(now) || lane.pause.isOn(now) {
                counts[2] += 1
            } else {
                counts[row.sequence <= lane.out && lane.isLive(now) ? 3 : 0] += 1
            }
        }
        return counts
    }
}
