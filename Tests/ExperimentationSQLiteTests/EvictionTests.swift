import Experimentation
import ExperimentationSQLite
import Foundation
import GRDB
import Testing

@Suite("Events that make room for others keep their rows for a while")
struct EvictionTests {
    private let folder = TemporaryFolder()

    /// A store for eight events, in which the rows of up to four evicted ones may remain.
    private func store() throws -> SQLiteStore {
        var limits = StoreLimits(maximumCount: 8)
        limits.evictedShare = 2
        return try SQLiteStore(at: folder.file(), options: .init(limits: limits))
    }

    private func rows() async throws -> Int {
        let raw = try DatabaseQueue(path: folder.file().path)
        defer { try? raw.close() }
        return try await raw.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM event") ?? -1 }
    }

    /// Accepts events one by one.
    private func file(_ numbers: Range<Int>, to destinations: [Destination] = [.filed], in store: SQLiteStore)
        async throws
    {
        for number in numbers { try await store.file([.sample("\(number)")], to: destinations) }
    }

    @Test("four evicted events are counted at once, and deleted with the fifth")
    func together() async throws {
        let store = try store()
        try await file(0..<12, in: store)
        #expect(store.overflowed == 4)
        #expect(try await rows() == 12)
        try await file(12..<13, in: store)
        #expect(store.overflowed == 5)
        #expect(try await rows() == 8)
    }

    enum Look: CaseIterable { case ledger, status, waiting, lease, expiry, consent, removal, close }

    @Test(
        "evicted events are gone for every caller that looks, or does anything with deliveries",
        arguments: Look.allCases
    )
    func looking(_ look: Look) async throws {
        let store = try store()
        try await file(0..<11, in: store)
        switch look {
        case .ledger: #expect(try await store.ledger() == Ledger(accepted: 11, pending: 8, dropped: [.overflow: 3]))
        case .status: #expect(try await store.status(now: noon).deliverable == 8)
        case .waiting: #expect(try await store.waiting().map(\.envelope.id) == (3..<11).map { "\($0)" })
        case .lease: #expect(try await store.fetch().ids == (3..<11).map { "\($0)" })
        case .expiry: #expect(try await store.expire(before: noon + 1, owedTo: .filed, now: noon) == 8)
        case .consent:
            #expect(try await store.setConsent([ConsentChange(userID: "ada", isGranted: false)]).removed == 8)
        case .removal: #expect(try await store.remove(owedTo: .filed, as: .dropped(.closed)) == 8)
        case .close: await store.close()
        }
        #expect(try await rows() == ([.expiry, .consent, .removal].contains(look) ? 0 : 8))
    }

    @Test("P76 deliveries to another destination don't affect them")
    func anotherDestination() async throws {
        let store = try store()
        try await file(0..<8, in: store)
        for number in 8..<12 {
            try await file(number..<(number + 1), to: [.filed, .alsoFiled], in: store)
            let batch = try await store.fetch(for: .alsoFiled)
            #expect(batch.ids == ["\(number)"])
            #expect(try await store.finish(batch))
        }
        #expect(try await rows() == 12)
        #expect(try await store.ledger(of: .filed) == Ledger(accepted: 12, pending: 8, dropped: [.overflow: 4]))
        #expect(try await store.ledger(of: .alsoFiled) == Ledger(accepted: 4, delivered: 4))
    }

    @Test("leased events aren't evicted while the lease lasts; then the oldest go first again")
    func leased() async throws {
        let store = try store()
        try await file(0..<8, in: store)
        let batch = try await store.fetch(2)
        try await file(8..<10, in: store)
        #expect(try await store.waiting().map(\.envelope.id) == ["0", "1", "4", "5", "6", "7", "8", "9"])
        try await store.release(batch.token, pause: nil, now: noon)
        try await file(10..<11, in: store)
        #expect(try await store.waiting().map(\.envelope.id) == ["1", "4", "5", "6", "7", "8", "9", "10"])
    }

    @Test("a holder whose lease has expired is notified at once")
    func expiredLease() async throws {
        let store = try store()
        try await file(0..<8, in: store)
        let batch = try await store.fetch(2)
        let late = NewEvent(.sample("8"), to: .filed)
        #expect(try await store.append([late], now: noon + 600) == [nil])
        #expect(try await !store.isCurrent(batch.token))
        #expect(try await rows() == 8)
    }

    @Test("after a kill they wait again, until the next event needs the room")
    func afterAKill() async throws {
        let store = try store()
        try await file(0..<12, in: store)
        for ending in ["", "-wal", "-lock"] {
            try FileManager.default.copyItem(
                at: folder.file("store.sqlite" + ending),
                to: folder.file("killed" + ending)
            )
        }
        let next = try SQLiteStore(at: folder.file("killed"), options: .init(limits: store.limits))
        #expect(try await next.ledger() == Ledger(accepted: 12, pending: 12))
        try await next.file([.sample("12")])
        #expect(try await next.ledger() == Ledger(accepted: 13, pending: 8, dropped: [.overflow: 5]))
    }

    @Test("events that another process has leased meanwhile aren't dropped, and make room again once they are sent")
    func leasedElsewhere() async throws {
        let store = try store()
        try await file(0..<11, in: store)
        let other = try SQLiteStore(at: folder.file(), options: .init(limits: store.limits))
        let batch = try await other.fetch(2)
        #expect(batch.ids == ["0", "1"])
        #expect(try await store.ledger() == Ledger(accepted: 11, pending: 10, dropped: [.overflow: 1]))
        #expect(try await other.isCurrent(batch.token))
        #expect(try await other.finish(batch))
        #expect(try await store.ledger() == Ledger(accepted: 11, delivered: 2, pending: 8, dropped: [.overflow: 1]))
        try await file(11..<40, in: store)
        #expect(try await store.ledger() == Ledger(accepted: 40, delivered: 2, pending: 8, dropped: [.overflow: 30]))
    }

    @Test("another process may send them; those that it has sent don't count as dropped")
    func otherProcess() async throws {
        let store = try store()
        try await file(0..<11, in: store)
        let other = try SQLiteStore(at: folder.file(), options: .init(limits: store.limits))
        let batch = try await other.fetch(2)
        #expect(batch.ids == ["0", "1"])
        #expect(try await other.finish(batch))
        let expected = Ledger(accepted: 11, delivered: 2, pending: 8, dropped: [.overflow: 1])
        #expect(try await store.ledger() == expected)
        #expect(try await other.ledger() == expected)
    }
}
