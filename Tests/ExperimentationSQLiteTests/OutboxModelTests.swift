import Experimentation
import ExperimentationSQLite
import Foundation
import GRDB
import Testing

@Suite("The outbox equals its model")
struct OutboxModelTests {
    private let folder = TemporaryFolder()

    /// What a store should hold, written as plainly as possible and apart from both stores.
    private struct Model {
        struct Row {
            var id: String
            var user: String
            var priority: Int
            var date: Date
            var isHeld: Bool
            var attempts = 0
            var leased = false
            var noted = Date.distantPast
            var due = Date.distantPast
            func waits(_ now: Date) -> Bool { now < due && noted <= now + 60 }
        }

        var rows: [Row] = []
        var ledger = Ledger()
        var now = noon
        let most: Int

        mutating func append(_ envelope: Envelope, isHeld: Bool) {
            rows.append(
                Row(
                    id: envelope.id,
                    user: envelope.identity.id,
                    priority: envelope.event.priority.rawValue,
                    date: envelope.date,
                    isHeld: isHeld
                )
            )
            ledger.accepted += 1
            while rows.count > most, let least = rows.filter({ !$0.leased }).map(\.priority).min(),
                let index = rows.firstIndex(where: { !$0.leased && $0.priority == least })
            {
                rows.remove(at: index)
                ledger.dropped[.overflow, default: 0] += 1
            }
        }

        mutating func lease(_ limit: Int, now: Date, until: Date) -> [String] {
            self.now = now
            var blocked: Set<String> = []
            var taken: [String] = []
            for index in rows.indices where !rows[index].isHeld && taken.count < limit {
                if rows[index].waits(now) { blocked.insert(rows[index].user) }
                if blocked.contains(rows[index].user) { continue }
                taken.append(rows[index].id)
                rows[index].leased = true
                rows[index].noted = now
                rows[index].due = until
            }
            return taken
        }

        mutating func settle(_ settlement: Settlement) {
            guard let index = rows.firstIndex(where: { $0.id == settlement.id }) else { return }
            switch settlement {
            case .delivered:
                rows.remove(at: index)
                ledger.delivered += 1
            case .dropped(_, let reason, _):
                rows.remove(at: index)
                ledger.dropped[reason, default: 0] += 1
            case .retry(_, let date, let attempts, _):
                rows[index].leased = false
                rows[index].noted = now
                rows[index].due = date
                rows[index].attempts = attempts
            }
        }

        mutating func remove(_ isGone: (Row) -> Bool) -> Int {
            let before = rows.count
            rows.removeAll(where: isGone)
            return before - rows.count
        }
    }

    @Test("P04 P09 P23 any sequence of operations leaves what the model has", arguments: 0..<(isSoak ? 2_000 : 60))
    func matches(seed: Int) async throws {
        var dice = SplitMix(seed: seed)
        let most = Int.random(in: 3...30, using: &dice)
        let limits = StoreLimits(maximumCount: most)
        // Every other seed runs on the in-memory store, which has no restarts and nothing to corrupt.
        let isDurable = seed.isMultiple(of: 2)
        var store: any OutboxStore = try (isDurable ? StoreKind.sqlite : .memory).open(folder, limits: limits)
        var model = Model(most: most)
        var now = noon
        var next = 0
        var leased: [String] = []
        let events: [TrackingEvent] = [.screenView("home"), .custom("a"), .purchase(Order(id: "o", total: 1))]
        for step in 0..<(isSoak ? 200 : 120) {
            switch Int.random(in: 0..<20, using: &dice) {
            case 0..<7:
                let isHeld = Int.random(in: 0..<5, using: &dice) == 0
                let batch = (0..<Int.random(in: 1...3, using: &dice)).map { _ in
                    next += 1
                    return Envelope.sample(
                        "\(next)",
                        user: "u\(Int.random(in: 0..<4, using: &dice))",
                        events[Int.random(in: 0..<3, using: &dice)],
                        at: now
                    )
                }
                // One at a time: where a call is larger than the whole store, who goes first is nobody's promise.
                for envelope in batch {
                    try await store.append([envelope], isHeld: isHeld)
                    model.append(envelope, isHeld: isHeld)
                }
            case 7..<11:
                let limit = Int.random(in: 1...8, using: &dice)
                let until = now + Double.random(in: 1...100, using: &dice)
                let taken = try await store.lease(limit, bytes: .max, now: now, until: until).map(\.id)
                #expect(taken == model.lease(limit, now: now, until: until), "seed \(seed), step \(step)")
                leased = leased.filter { !taken.contains($0) } + taken
            case 11..<15:
                var settlements: [Settlement] = []
                while let id = leased.popLast(), Int.random(in: 0..<4, using: &dice) > 0 {
                    switch Int.random(in: 0..<5, using: &dice) {
                    case 0..<3: settlements.append(.delivered(id: id))
                    case 3: settlements.append(.dropped(id: id, reason: .rejected, detail: ""))
                    default:
                        let date = now + Double.random(in: 0...200, using: &dice)
                        settlements.append(.retry(id: id, at: date, attempts: step, reason: "r"))
                    }
                }
                try await store.settle(settlements)
                for settlement in settlements { model.settle(settlement) }
            case 15:
                let user = "u\(Int.random(in: 0..<4, using: &dice))"
                try await store.release(userID: user)
                for index in model.rows.indices where model.rows[index].user == user {
                    model.rows[index].isHeld = false
                }
            case 16:
                let user = "u\(Int.random(in: 0..<4, using: &dice))"
                let gone = model.remove { $0.user == user }
                model.ledger.purged += gone
                #expect(try await store.purge(userID: user) == gone, "seed \(seed), step \(step)")
            case 17:
                let date = now - Double.random(in: 0...300, using: &dice)
                let gone = model.remove { $0.date < date && !$0.leased }
                if gone > 0 { model.ledger.dropped[.expired, default: 0] += gone }
                #expect(try await store.expire(before: date) == gone, "seed \(seed), step \(step)")
            case 18:
                let jumps: [Double] = [30, 30, 86_400, -86_400, -30]
                now += jumps[Int.random(in: 0..<5, using: &dice)]
            default:
                guard isDurable else { continue }
                store = try await restarted(store, limits, dice: &dice, model: &model)
                leased = []
            }
            var expected = model.ledger
            expected.pending = model.rows.count
            #expect(try await store.ledger() == expected, "seed \(seed), step \(step)")
            #expect(expected.isBalanced)
        }
    }

    /// Closes and opens the store, every other time with a row that can't be read.
    private func restarted(
        _ store: any OutboxStore,
        _ limits: StoreLimits,
        dice: inout SplitMix,
        model: inout Model
    ) async throws -> any OutboxStore {
        await (store as? SQLiteStore)?.close()
        // Nobody else has the file, so whoever leased something is gone.
        for index in model.rows.indices where model.rows[index].leased {
            model.rows[index].leased = false
            model.rows[index].due = .distantPast
        }
        model.now = Date(timeIntervalSince1970: 0)
        let ready = model.rows.filter { !$0.isHeld && $0.due == .distantPast }
        let victim = Bool.random(using: &dice) ? ready.randomElement(using: &dice) : nil
        if let victim {
            let database = try DatabaseQueue(path: folder.file().path)
            try await database.write { database in
                try database.execute(
                    sql: "UPDATE event SET body = substr(body, 1, length(body) / 2) WHERE id = ?",
                    arguments: [victim.id]
                )
            }
            try database.close()
        }
        let opened = try SQLiteStore(at: folder.file(), limits: limits)
        guard let victim else { return opened }
        // It is found when it is leased, and given up then; here, before anything else is.
        let now = noon + 1_000_000
        let taken = try await opened.lease(100, bytes: .max, now: now, until: now + 1).map(\.id)
        #expect(!taken.contains(victim.id))
        try await opened.settle(taken.map { .retry(id: $0, at: noon - 1_000_000, attempts: 0, reason: "") })
        model.now = now
        for index in model.rows.indices where taken.contains(model.rows[index].id) {
            model.rows[index].due = noon - 1_000_000
            model.rows[index].attempts = 0
        }
        model.rows.removeAll { $0.id == victim.id }
        model.ledger.dropped[.unreadable, default: 0] += 1
        return opened
    }
}
