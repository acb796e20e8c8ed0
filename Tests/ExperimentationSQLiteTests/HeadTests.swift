import Experimentation
import ExperimentationSQLite
import Foundation
import GRDB
import Testing
import Waiting

@Suite("Batches delivered from the front of a lane keep their rows for a while")
struct HeadTests {
    private let folder = TemporaryFolder()

    private func number(_ sql: String) async throws -> Int {
        let raw = try DatabaseQueue(path: folder.file().path)
        defer { try? raw.close() }
        return try await raw.read { try Int.fetchOne($0, SQLRequest(literal: "\(sql: sql)")) ?? -1 }
    }

    private func sizeOfLog() throws -> Int {
        try FileManager.default.attributesOfItem(atPath: folder.file("store.sqlite-wal").path)[.size] as? Int ?? 0
    }

    /// A store with alternating events of two users, the first ones leased.
    private func store(_ count: Int = 8, leased: Int = 4) async throws -> (SQLiteStore, FiledBatch) {
        let store = try SQLiteStore(at: folder.file())
        try await store.file((0..<count).map { .sample("\($0)", user: $0.isMultiple(of: 2) ? "ada" : "bob") })
        return (store, try await store.fetch(leased))
    }

    private func deliver(_ batch: FiledBatch, of store: SQLiteStore) async throws {
        let settlements = batch.events.map { Settlement(of: $0, .delivered) }
        #expect(try await store.settle(settlements, under: batch.token, now: noon))
    }

    @Test("a batch's verdicts are written as one page, and its rows are deleted later")
    func onePage() async throws {
        let (store, batch) = try await store()
        let before = try sizeOfLog()
        try await deliver(batch, of: store)
        #expect(try sizeOfLog() - before == 4_096 + 24)
        #expect(try await number("SELECT count(*) FROM delivery") == 8)
        try await store.release(batch.token, pause: nil, now: noon)
        try await eventually("the rows are deleted") { try await number("SELECT count(*) FROM delivery") == 4 }
        #expect(try await number("SELECT count(*) FROM event") == 4)
        #expect(try await store.fetch().ids == ["4", "5", "6", "7"])
    }

    @Test("the last batch's rows are deleted together with all others")
    func lastBatch() async throws {
        let (store, first) = try await store()
        try await deliver(first, of: store)
        let second = try await store.fetch()
        #expect(second.ids == ["4", "5", "6", "7"])
        try await deliver(second, of: store)
        #expect(try await number("SELECT count(*) FROM delivery") == 0)
        #expect(try await number("SELECT count(*) FROM event") == 0)
        #expect(try await store.ledger() == Ledger(accepted: 8, delivered: 8))
    }

    @Test("rows are deleted as fast as new events arrive")
    func beside() async throws {
        let limits = StoreLimits(maximumCount: 100_000, maximumBytes: 100_000_000)
        let store = try SQLiteStore(at: folder.file(), options: .init(limits: limits))
        for round in 0..<36 {
            try await store.file((0..<200).map { .sample("\(round)-\($0)") })
            if round > 0 { try await deliver(try await store.fetch(200), of: store) }
        }
        let left = try await number("SELECT count(*) FROM delivery")
        #expect((300...3_600).contains(left))
        #expect(try await number("SELECT count(*) FROM event") == left)
        #expect(try await store.ledger() == Ledger(accepted: 7_200, delivered: 7_000, pending: 200))
    }

    @Test("rows are deleted at once when nothing else is left, without writing their pages")
    func atOnce() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.file((0..<3_000).map { .sample("\($0)") })
        try await deliver(try await store.fetch(2_999), of: store)
        let last = try await store.fetch()
        let before = try sizeOfLog()
        try await deliver(last, of: store)
        #expect(try sizeOfLog() - before < 16 * (4_096 + 24))
        #expect(try await number("SELECT count(*) FROM event") == 0)
        #expect(try await store.status(now: noon) == OutboxStatus())
        #expect(try await store.ledger() == Ledger(accepted: 3_000, delivered: 3_000))
    }

    @Test("many rows are deleted behind everything else once nothing is left to deliver")
    func behind() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.file(
            (0..<2_000).map { .sample("\($0)", user: $0 == 0 ? "eve" : "ada") },
            to: [.filed, .alsoFiled]
        )
        try await deliver(try await store.fetch(), of: store)
        // As many as make room for new events are deleted already.
        #expect(try await number("SELECT count(*) FROM delivery") == 4_000 - 1_600)
        #expect(try await store.fetch().ids == [])
        try await eventually("rows of one destination are left") {
            try await number("SELECT count(*) FROM delivery") == 2_000
        }
        #expect(try await store.ledger() == Ledger(accepted: 4_000, delivered: 2_000, pending: 2_000))
        #expect(try await store.fetch(1, for: .alsoFiled).ids == ["0"])
        try await deliver(try await store.fetch(for: .alsoFiled), of: store)
        await store.close()
    }

    @Test("queries ignore delivered rows and write nothing")
    func looking() async throws {
        let (store, batch) = try await store()
        try await store.file([.sample("8")], to: [.filed, .alsoFiled])
        let bytes = try await store.status(now: noon).bytes
        try await deliver(batch, of: store)
        let size = try sizeOfLog()
        for store in [store, try SQLiteStore(at: folder.file())] {
            #expect(try await store.ledger(of: .filed) == Ledger(accepted: 9, delivered: 4, pending: 5))
            #expect(try await store.ledger() == Ledger(accepted: 10, delivered: 4, pending: 6))
            let status = try await store.status(of: .filed, now: noon)
            #expect(status.leased == 0 && status.ready == 5)
            #expect(try await store.status(now: noon).deliverable == 6)
            #expect(try await store.status(now: noon).bytes < bytes * 2 / 3)
            #expect(try await store.waiting().map(\.envelope.id) == ["4", "5", "6", "7", "8"])
            #expect(try await store.waiting(limit: 2).map(\.envelope.id) == ["4", "5"])
        }
        #expect(try sizeOfLog() == size)
        #expect(try await number("SELECT count(*) FROM delivery") == 8)
    }

    @Test("a batch counts once, however often it is settled")
    func twice() async throws {
        let (store, batch) = try await store()
        try await deliver(batch, of: store)
        try await deliver(batch, of: store)
        #expect(try await store.ledger() == Ledger(accepted: 8, delivered: 4, pending: 4))
    }

    /// Verdicts on a batch other than "all delivered, in order".
    enum Answer: CaseIterable {
        case withoutTheFirst, withoutTheSecond, oneLater, oneDropped, backwards, twice, none
    }

    @Test(
        "only the deletion of a complete front is deferred: everything else is written at once",
        arguments: Answer.allCases
    )
    func otherAnswers(_ answer: Answer) async throws {
        let (store, batch) = try await store()
        var settlements = batch.events.map { Settlement(of: $0, .delivered) }
        switch answer {
        case .withoutTheFirst: settlements.removeFirst()
        case .withoutTheSecond: settlements.remove(at: 1)
        case .oneLater: settlements[2].outcome = .retry(at: noon + 60, attempts: 1, reason: "later")
        case .oneDropped: settlements[2].outcome = .dropped(.rejected, detail: "")
        case .backwards: settlements.reverse()
        case .twice: settlements.append(settlements[3])
        case .none: settlements = []
        }
        let gone = Set(settlements.filter { if case .retry = $0.outcome { false } else { true } }.map(\.id))
        #expect(try await store.settle(settlements, under: batch.token, now: noon))
        #expect(try await number("SELECT count(*) FROM delivery") == 8 - gone.count)
        let dropped: [Ledger.DropReason: Int] = answer == .oneDropped ? [.rejected: 1] : [:]
        let delivered = gone.count - dropped.count
        let expected = Ledger(accepted: 8, delivered: delivered, pending: 8 - gone.count, dropped: dropped)
        #expect(try await store.ledger() == expected)
    }

    @Test("an event that was tried before and is due again isn't skipped")
    func triedBefore() async throws {
        let (store, batch) = try await store()
        let retries = batch.events.map { Settlement(of: $0, .retry(at: noon + 1, attempts: 1, reason: "later")) }
        #expect(try await store.settle(retries, under: batch.token, now: noon))
        let again = try await store.fetch(4, at: noon + 2)
        #expect(again.ids == batch.ids)
        try await deliver(again, of: store)
        #expect(try await store.status(of: .filed, now: noon + 2).failures == [:])
        #expect(try await number("SELECT count(*) FROM delivery") == 4)
    }

    // MARK: Other changes of the lane

    @Test("granting consent to an earlier event doesn't add it to the delivered rows")
    func consentGiven() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.file([.sample("held", user: "eve")], isHeld: true)
        try await store.file((0..<4).map { .sample("\($0)") })
        try await deliver(try await store.fetch(2), of: store)
        _ = try await store.setConsent([ConsentChange(userID: "eve", isGranted: true)])
        #expect(try await store.ledger() == Ledger(accepted: 5, delivered: 2, pending: 3))
        #expect(try await store.fetch().ids == ["held", "2", "3"])
    }

    @Test("a denial deletes its user's delivered rows, and counts the waiting ones")
    func denied() async throws {
        let (store, batch) = try await store()
        try await deliver(batch, of: store)
        let outcome = try await store.setConsent([ConsentChange(userID: "ada", isGranted: false)])
        #expect(outcome.removed == 2)
        #expect(try await store.ledger() == Ledger(accepted: 8, delivered: 4, pending: 2, purged: 2))
        #expect(try await number("SELECT count(*) FROM event") == 2)
    }

    @Test("another destination keeps its events")
    func severalDestinations() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.file((0..<8).map { .sample("\($0)") }, to: [.filed, .alsoFiled])
        for _ in 0..<2 { try await deliver(try await store.fetch(3), of: store) }
        try await deliver(try await store.fetch(2, for: .alsoFiled), of: store)
        #expect(try await store.ledger(of: .filed) == Ledger(accepted: 8, delivered: 6, pending: 2))
        #expect(try await store.ledger(of: .alsoFiled) == Ledger(accepted: 8, delivered: 2, pending: 6))
        #expect(try await store.remove(owedTo: .filed, as: .dropped(.closed)) == 2)
        #expect(try await number("SELECT count(*) FROM event") == 6)
        #expect(try await store.fetch(for: .alsoFiled).ids == (2..<8).map { "\($0)" })
    }

    @Test("another process neither sends nor counts delivered events again")
    func otherProcess() async throws {
        let (store, batch) = try await store()
        let other = try SQLiteStore(at: folder.file())
        try await deliver(batch, of: store)
        // The lease has expired at that time.
        #expect(try await other.fetch(2, at: noon + 600).ids == ["4", "5"])
        #expect(try await other.remove(owedTo: .filed, as: .dropped(.closed)) == 4)
        #expect(
            try await !store.settle(batch.events.map { Settlement(of: $0, .delivered) }, under: batch.token, now: noon)
        )
        for store in [store, other] {
            #expect(try await store.ledger() == Ledger(accepted: 8, delivered: 4, dropped: [.closed: 4]))
        }
    }

    @Test("a full store deletes delivered rows before it drops waiting events")
    func fullStore() async throws {
        let store = try SQLiteStore(at: folder.file(), options: .init(limits: StoreLimits(maximumCount: 8)))
        try await store.file((0..<8).map { .sample("\($0)") })
        let batch = try await store.fetch(4)
        try await deliver(batch, of: store)
        try await store.file((8..<12).map { .sample("\($0)") })
        #expect(try await store.ledger() == Ledger(accepted: 12, delivered: 4, pending: 8))
        #expect(try await store.waiting().map(\.envelope.id) == (4..<12).map { "\($0)" })
    }

    @Test("delivered rows still count as delivered after a kill, in a damaged file and in a replaced one")
    func afterAKill() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.file([.sample("held", user: "eve")], isHeld: true)
        try await store.file((0..<6).map { .sample("\($0)") }, to: [.filed, .alsoFiled])
        try await deliver(try await store.fetch(4), of: store)
        for name in ["killed", "damaged", "without its row"] {
            for ending in ["", "-wal", "-lock"] {
                try FileManager.default.copyItem(
                    at: folder.file("store.sqlite" + ending),
                    to: folder.file(name + ending)
                )
            }
            guard name != "killed" else { continue }
            let raw = try DatabaseQueue(path: folder.file(name).path)
            try await raw.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 1") }
            if name != "damaged" {
                try await raw.writeWithoutTransaction { try $0.execute(sql: "DELETE FROM destination WHERE id = 1") }
            }
            try raw.close()
        }
        try FileManager.default.removeItem(at: folder.file())
        for name in ["store.sqlite", "killed", "damaged", "without its row"] {
            let next = name == "store.sqlite" ? store : try SQLiteStore(at: folder.file(name))
            #expect(try await next.ledger(of: .filed) == Ledger(accepted: 7, delivered: 4, pending: 3), "\(name)")
            #expect(try await next.ledger(of: .alsoFiled) == Ledger(accepted: 6, pending: 6), "\(name)")
            #expect(try await next.fetch().ids == ["4", "5"], "\(name)")
            #expect(try await next.fetch(for: .alsoFiled).ids == (0..<6).map { "\($0)" }, "\(name)")
            _ = try await next.setConsent([ConsentChange(userID: "eve", isGranted: true)])
            #expect(try await next.ledger(of: .filed).pending == 3, "\(name)")
            await next.close()
        }
    }
}
