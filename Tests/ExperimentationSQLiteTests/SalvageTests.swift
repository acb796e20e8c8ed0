import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import GRDB
import Testing

@Suite("Readable parts of a damaged store are kept")
struct SalvageTests {
    private let folder = TemporaryFolder()

    private func alter(_ body: @escaping @Sendable (Database) throws -> Void) async throws {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        let database = try DatabaseQueue(path: folder.file().path)
        try await database.writeWithoutTransaction { try body($0) }
        try database.close()
    }

    private func flipVersion() async throws { try await alter { try $0.execute(sql: "PRAGMA user_version = 1") } }

    @Test(
        "P16 tables of another shape than their version's are damage: their content is kept",
        arguments: [
            "UPDATE sqlite_schema SET sql = replace(sql, 'noted', 'noteD_') WHERE name = 'delivery'",
            "UPDATE sqlite_schema SET sql = replace(sql, 'tried', 'trieD_') WHERE name = 'destination'",
            "DROP TABLE dropped",
            "DROP TABLE denial",
            "PRAGMA user_version = 0",
            "PRAGMA user_version = 1",
        ]
    )
    func otherTables(_ change: String) async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.file([.sample("1"), .sample("2"), .sample("3")])
        try await store.deliver(1)
        await store.close()
        try await alter { database in
            try database.execute(sql: "PRAGMA writable_schema = ON")
            try database.execute(sql: change)
        }
        let next = try SQLiteStore(at: folder.file())
        #expect(next.hasSetAsideDamage)
        #expect(try await next.fetch().ids == ["2", "3"])
        #expect(try await next.ledger() == Ledger(accepted: 3, delivered: 1, pending: 2))
        await next.close()
    }

    @Test("P16 events whose consent state is unreadable are held")
    func lostDeliveries() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.file([.sample("1"), .sample("2", user: "eve", TrackingEvent(.consentChanged(granted: true)))])
        try await store.file([.sample("3")])
        try await store.deliver(1)
        await store.close()
        try await alter { try $0.execute(sql: "DROP TABLE delivery") }
        let next = try SQLiteStore(at: folder.file())
        #expect(try await next.ledger(of: .filed) == Ledger(accepted: 3, delivered: 1, pending: 2))
        #expect(try await next.fetch().ids == ["2"])
        #expect(try await next.status(of: .filed, now: noon).held == 1)
        _ = try await next.setConsent([ConsentChange(userID: "ada", isGranted: true)])
        #expect(try await next.fetch().ids == ["2", "3"])
    }

    @Test("P16 P21 damage doesn't give the events to another account")
    func damagedAndForeign() async throws {
        let store = try SQLiteStore(at: folder.file(), for: InMemoryProvider(name: "v", scope: "one"))
        try await store.file([.sample("1"), .sample("2")])
        await store.close()
        try await flipVersion()
        let error = #expect(throws: ExperimentationError.self) {
            try SQLiteStore(at: folder.file(), for: InMemoryProvider(name: "v", scope: "two"))
        }
        #expect(error?.code == .configuration)
        let again = try SQLiteStore(at: folder.file(), for: InMemoryProvider(name: "v", scope: "one"))
        #expect(again.hasSetAsideDamage)
        #expect(try await again.fetch().ids == ["1", "2"])
    }

    @Test("P16 stored state survives damage, in the order of writing")
    func valuesAfterDamage() async throws {
        let store = try SQLiteStore(at: folder.file())
        for key in ["c/1", "c/3", "c/2", "c/1"] { try await store.setValue(Array(key.utf8), for: key) }
        await store.close()
        try await flipVersion()
        let next = try SQLiteStore(at: folder.file())
        #expect(next.hasSetAsideDamage)
        #expect(try await next.keys(beginningWith: "c/") == ["c/3", "c/2", "c/1"])
        #expect(try await next.value(for: "c/2") == Array("c/2".utf8))
    }

    @Test("P16 destinations, attempts, pauses and denials survive damage")
    func everythingElse() async throws {
        let store = try SQLiteStore(at: folder.file())
        let both: [Destination] = [.filed, .alsoFiled]
        try await store.file((0..<6).map { .sample("\($0)", user: "u\($0)") }, to: both)
        try await store.file([.sample("held", user: "u6")], isHeld: true, to: [.alsoFiled])
        try await store.deliver(2, for: .alsoFiled)
        let batch = try await store.fetch()
        _ = try await store.settle(
            [
                Settlement(of: batch.events[0], .dropped(.rejected, detail: "")),
                Settlement(of: batch.events[1], .retry(at: noon + 30, attempts: 2, reason: "HTTP 400")),
            ],
            under: batch.token,
            now: noon
        )
        let pause = DeliveryPause(until: noon + 90, reason: "HTTP 503", through: 6)
        try await store.release(batch.token, pause: pause, now: noon)
        _ = try await store.setConsent([ConsentChange(userID: "u5", isGranted: false)])
        try await store.finishErasing()
        var before: [Ledger] = []
        for destination in both { before.append(try await store.ledger(of: destination)) }
        let waiting = try await store.waiting()
        let status = try await store.status(now: noon)
        await store.close()
        try await flipVersion()

        let next = try SQLiteStore(at: folder.file())
        #expect(next.hasSetAsideDamage)
        #expect(try await next.destinations() == both)
        for (index, destination) in both.enumerated() {
            #expect(try await next.ledger(of: destination) == before[index])
        }
        #expect(try await next.waiting() == waiting)
        #expect(try await next.status(now: noon) == status)
        let late = [NewEvent(.sample("late", user: "u5"), to: .filed)]
        #expect(try await next.append(late, now: noon).map { $0?.code } == [.consentDenied])
        let request = LeaseRequest(for: .filed, owner: 7, of: 10, now: noon, until: noon + 60)
        #expect(try await next.lease(request) == .paused(until: noon + 90))
        #expect(try await next.fetch(at: noon + 100).events.map(\.attempts) == [2, 0, 0, 0])
    }

    @Test(
        "P16 readable parts of a damaged file are kept: events on intact pages, and the ledgers",
        arguments: [[Destination.filed], [.filed, .alsoFiled]],
        [true, false]
    )
    func salvage(_ destinations: [Destination], hasCopy: Bool) async throws {
        let store = try SQLiteStore(at: folder.file())
        for number in 0..<400 {
            try await store.file([.sample("\(number)", .custom("event \(number)"))], to: destinations)
        }
        try await store.deliver(100)
        await store.close()
        // A page of events is destroyed.
        try StoreSurgery.ruinPage(with: "\"name\":\"event 250\"", in: folder.file())
        if !hasCopy { try FileManager.default.removeItem(at: folder.file("store.sqlite-lock")) }

        let next = try SQLiteStore(at: folder.file())
        #expect(next.hasSetAsideDamage)
        let ledger = try await next.ledger(of: .filed)
        #expect(ledger.accepted == 400 && ledger.delivered == 100 && ledger.isBalanced)
        let lost = ledger.dropped[.unreadable, default: 0]
        #expect(lost > 0 && lost < 30, "\(ledger)")
        let leased = try await next.fetch()
        #expect(leased.ids.count == 300 - lost)
        #expect(leased.ids == leased.ids.sorted { (Int($0) ?? 0) < (Int($1) ?? 0) })
        for other in destinations.dropFirst() {
            let lost = 400 - (try await next.fetch(for: other).ids.count)
            #expect(
                try await next.ledger(of: other)
                    == Ledger(accepted: 400, pending: 400 - lost, dropped: [.unreadable: lost])
            )
        }
        // The sequence continues after the old events.
        try await next.file([.sample("new", user: "bob")])
        #expect(try await next.fetch().events.last?.sequence == 401)
    }

    @Test(
        "P16 a damaged file of an earlier schema is salvaged into the current one",
        arguments: ["schema-1", "schema-2"]
    )
    func formerSchemas(_ name: String) async throws {
        let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Fixtures/\(name).sql")
        let sql = try String(contentsOf: fixture, encoding: .utf8)
        try await alter { database in
            try database.execute(sql: sql)
            try database.execute(sql: "PRAGMA writable_schema = ON")
            try database.execute(
                sql: "UPDATE sqlite_schema SET sql = replace(sql, 'value', 'valuE_') WHERE name = 'state'"
            )
        }
        let store = try SQLiteStore(at: folder.file())
        #expect(store.hasSetAsideDamage)
        #expect(
            try await store.ledger()
                == Ledger(accepted: 9, delivered: 3, pending: 4, purged: 1, dropped: [.rejected: 1])
        )
        let batch = try await store.fetch()
        #expect(batch.ids == ["e-5", "e-6", "e-8"])
        #expect(batch.events.map(\.attempts) == [1, 0, 0])
        #expect(try await store.destinations() == [.filed])
        #expect(try await store.value(for: "ruleset") == [1, 2, 3])
        _ = try await store.setConsent([ConsentChange(userID: "zoë", isGranted: true)])
        #expect(try await store.fetch().ids == ["e-5", "e-6", "e-8", "e-9"])
    }

    @Test("P16 the first damaged file and the latest few are kept, and a denial deletes all of them")
    func copies() async throws {
        for round in 0..<7 {
            try? FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
            try Data("not a database, round \(round)".utf8).write(to: folder.file())
            let store = try SQLiteStore(at: folder.file())
            #expect(store.hasSetAsideDamage)
            await store.close()
        }
        func rounds() throws -> [String: String] {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
            return try names.filter { $0.contains("damaged") }.reduce(into: [:]) { rounds, name in
                let text = String(decoding: try Data(contentsOf: folder.file(name)), as: UTF8.self)
                rounds[String(name.dropFirst("store.sqlite".count))] = String(text.suffix(1))
            }
        }
        #expect(try rounds() == [".damaged": "0", ".damaged-2": "1", ".damaged-3": "2", ".damaged-4": "6"])
        let store = try SQLiteStore(at: folder.file())
        _ = try await store.setConsent([ConsentChange(userID: "ada", isGranted: false)])
        try await store.finishErasing()
        #expect(try rounds().isEmpty)
    }
}
