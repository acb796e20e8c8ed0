import Experimentation
import ExperimentationSQLite
import Foundation
import GRDB
import Testing

@Suite("The latest events have no delivery rows yet")
struct TailTests {
    private let folder = TemporaryFolder()

    private func number(_ sql: String) async throws -> Int {
        let raw = try DatabaseQueue(path: folder.file().path)
        defer { try? raw.close() }
        return try await raw.read { try Int.fetchOne($0, SQLRequest(literal: "\(sql: sql)")) ?? -1 }
    }

    private func sizeOfLog() throws -> Int {
        try FileManager.default.attributesOfItem(atPath: folder.file("store.sqlite-wal").path)[.size] as? Int ?? 0
    }

    @Test("accepting an event writes one page")
    func onePage() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("0")])
        let before = try sizeOfLog()
        for number in 1...8 { try await store.append([.sample("\(number)")]) }
        #expect(try sizeOfLog() - before == 8 * (4_096 + 24))
    }

    @Test("queries include them and write nothing")
    func looking() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("1"), .sample("2", user: "bob")])
        #expect(try await store.deliverable() == ["1", "2"])
        try await store.append([.sample("3"), .sample("4", user: "bob")], isHeld: true)
        try await store.append([.sample("5")], to: .away)
        let size = try sizeOfLog()
        for store in [store, try SQLiteStore(at: folder.file())] {
            let status = try await store.status(of: .home, now: noon)
            #expect(status.ready == 2 && status.held == 2 && status.oldest == noon)
            #expect(try await store.status(of: .away, now: noon).bytes > 100)
            #expect(try await store.status(now: noon).deliverable == 3)
            #expect(try await store.ledger(of: .home) == Ledger(accepted: 4, pending: 4))
            #expect(try await store.ledger() == Ledger(accepted: 5, pending: 5))
            let waiting = try await store.waiting()
            #expect(waiting.map(\.envelope.id) == ["1", "2", "3", "4", "5"])
            #expect(waiting.map { $0.deliveries.map(\.isHeld) } == [[false], [false], [true], [true], [false]])
            #expect(waiting.map { $0.deliveries.map(\.destination.provider) }.last == ["away"])
        }
        #expect(try sizeOfLog() == size)
        #expect(try await number("SELECT count(*) FROM delivery") == 2)
    }

    @Test("they get rows together, before they become too many or too large")
    func together() async throws {
        let store = try SQLiteStore(at: folder.file())
        for number in 0..<255 { try await store.append([.sample("\(number)")]) }
        #expect(try await number("SELECT count(*) FROM delivery") == 0)
        try await store.append([.sample("255")])
        #expect(try await number("SELECT count(*) FROM delivery") == 256)
        let user = String(repeating: "u", count: 9_000)
        for number in 0..<3 { try await store.append([.sample("long-\(number)", user: user)]) }
        #expect(try await number("SELECT count(*) FROM delivery") == 256)
        try await store.append([.sample("long-3", user: user)])
        #expect(try await number("SELECT count(*) FROM delivery") == 260)
        try await store.expectBalance(260)
    }

    @Test("another process delivers, denies and drops them")
    func otherProcess() async throws {
        let stores = [try SQLiteStore(at: folder.file()), try SQLiteStore(at: folder.file())]
        try await stores[0].append([.sample("1"), .sample("2", user: "bob"), .sample("3", user: "eve")])
        #expect(try await stores[1].purge("bob") == 1)
        try await stores[0].append([.sample("4", user: "bob")])
        #expect(try await stores[1].deliverable() == ["1", "3", "4"])
        try await stores[0].append([.sample("5")])
        #expect(try await stores[1].remove(owedTo: .home, as: .dropped(.closed)) == 4)
        for store in stores { try await store.expectBalance(5) }
    }

    @Test("after a kill and in a damaged file they are owed to the same destinations, and held where they were held")
    func afterAKill() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("1")])
        #expect(try await store.deliverable() == ["1"])
        let both: [NewEvent.Delivery] = [.init(to: .home), .init(to: .away, isHeld: true)]
        _ = try await store.append([NewEvent(.sample("2"), owedTo: both)], now: noon)
        try await store.append([.sample("3")], to: .away)
        for name in ["killed", "damaged"] {
            for ending in ["", "-wal"] {
                try FileManager.default.copyItem(
                    at: folder.file("store.sqlite" + ending),
                    to: folder.file(name + ending)
                )
            }
        }
        let raw = try DatabaseQueue(path: folder.file("damaged").path)
        try await raw.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 1") }
        try raw.close()
        for name in ["killed", "damaged"] {
            let next = try SQLiteStore(at: folder.file(name))
            #expect(next.hasSetAsideDamage == (name == "damaged"))
            #expect(try await next.ledger(of: .home) == Ledger(accepted: 2, pending: 2))
            #expect(try await next.ledger(of: .away) == Ledger(accepted: 2, pending: 2))
            #expect(try await next.deliverable() == ["1", "2"])
            #expect(try await next.deliverable(of: .away) == ["3"])
            #expect(try await next.status(of: .away, now: noon).held == 1)
            await next.close()
        }
    }

    @Test("events with more destinations than fit into the event get their rows at once")
    func manyDestinations() async throws {
        let store = try SQLiteStore(at: folder.file())
        let all = (0..<30).map { Destination(provider: "vendor-\($0)", scope: "") }
        for destination in all { try await store.append([.sample("to \(destination.provider)")], to: destination) }
        let owed = all.map { NewEvent.Delivery(to: $0, isHeld: $0 == all[29]) }
        _ = try await store.append([NewEvent(.sample("to all"), owedTo: owed)], now: noon)
        try await store.append([.sample("last")], to: all[0])
        try await store.expectBalance(61)
        for destination in all {
            let mine = ["to \(destination.provider)"]
            let others = destination == all[0] ? ["to all", "last"] : destination == all[29] ? [] : ["to all"]
            #expect(try await store.deliverable(of: destination) == mine + others)
        }
    }
}
