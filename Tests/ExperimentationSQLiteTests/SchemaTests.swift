import Experimentation
import ExperimentationSQLite
import Foundation
import GRDB
import Testing
import Waiting

@Suite("Files of other versions")
struct SchemaTests {
    private let folder = TemporaryFolder()

    private func fixture(_ name: String) throws -> String {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "Fixtures/\(name).sql"
        )
        return try String(contentsOf: file, encoding: .utf8)
    }

    private func write(_ name: String) async throws {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        let database = try DatabaseQueue(path: folder.file().path)
        let sql = try fixture(name)
        try await database.writeWithoutTransaction { try $0.execute(sql: sql) }
        try database.close()
    }

    @Test(
        "P27 every released schema is opened, with its events",
        arguments: ["schema-1", "schema-2", "schema-3"]
    )
    func schemas(_ name: String) async throws {
        try await write(name)
        let store = try SQLiteStore(at: folder.file())
        let before = try await store.ledger()
        #expect(before == Ledger(accepted: 9, delivered: 3, pending: 4, purged: 1, dropped: [.rejected: 1]))
        let lease = try #require(try await store.take())
        #expect(lease.ids == ["e-5", "e-6", "e-8"])
        #expect(lease.events.map(\.attempts) == [1, 0, 0])
        #expect(lease.events.first?.event == .custom("spun-wheel", value: 3, attributes: ["colour": "red"]))
        #expect(try await store.value(for: "ruleset") == [1, 2, 3])
        try await store.settle(lease)
        _ = try await store.setConsent([ConsentChange(userID: "zoë", isGranted: true)])
        #expect(try await store.destinations() == [.home])
        try await store.settle(try #require(try await store.take()))
        let after = Ledger(accepted: 9, delivered: 7, purged: 1, dropped: [.rejected: 1])
        #expect(try await store.ledger(of: .home) == after)
        #expect(try await store.ledger() == after)
    }

    @Test("P27 events of a version without destinations go to the first one, and to no second")
    func adopted() async throws {
        try await write("schema-2")
        let store = try SQLiteStore(at: folder.file())
        #expect(try await store.deliverable(of: .away) == ["e-5", "e-6", "e-8"])
        #expect(try await store.deliverable(of: .home) == [])
    }

    @Test("P27 a file of this version keeps denials and the owners of lanes")
    func thisVersion() async throws {
        try await write("schema-3")
        let store = try SQLiteStore(at: folder.file())
        let events = [NewEvent(.sample("a", user: "eve"), to: .home), NewEvent(.sample("b", user: "Eve"), to: .home)]
        #expect(try await store.append(events, now: noon).map { $0?.code } == [.consentDenied, nil])
        let lease = try #require(try await store.take())
        #expect(lease.token.epoch == 5 && lease.ids == ["e-5", "e-6", "e-8", "b"])
        #expect(lease.events.last?.sequence == 10)
    }

    @Test("P27 several processes that upgrade a file at once, next to one that has it open, all succeed")
    func upgradedAtOnce() async throws {
        let sql = try fixture("schema-1")
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        for round in 0..<(isSoak ? 300 : 20) {
            let url = folder.file("at-once-\(round)")
            let old = try DatabaseQueue(path: url.path)
            try await old.writeWithoutTransaction { database in
                _ = try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL")
                try database.execute(sql: sql)
            }
            // An older version of the library holds this lock in shared mode.
            let lock = open(url.path + "-lock", O_RDWR | O_CREAT, 0o600)
            flock(lock, LOCK_SH)
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        // Opening blocks its thread while it waits for other processes, so it runs outside the
                        // cooperative pool.
                        let isDamaged = try await ownThread {
                            try SQLiteStore(at: url, options: .init(busyTimeout: isSoak ? .seconds(5) : generousLimit))
                                .hasSetAsideDamage
                        }
                        #expect(!isDamaged)
                    }
                }
                try await group.waitForAll()
            }
            close(lock)
            try old.close()
        }
    }

    @Test("P27 a file of a later version is left unchanged")
    func laterSchema() async throws {
        await (try SQLiteStore(at: folder.file())).close()
        let database = try DatabaseQueue(path: folder.file().path)
        try await database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 99") }
        try database.close()
        let before = try Data(contentsOf: folder.file())
        let error = #expect(throws: ExperimentationError.self) { try SQLiteStore(at: folder.file()) }
        #expect(error?.code == .store)
        #expect(error?.message.contains("schema 99") == true)
        #expect(try Data(contentsOf: folder.file()) == before)
    }
}
