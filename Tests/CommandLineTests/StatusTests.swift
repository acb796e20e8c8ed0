import Foundation
import GRDB
import Testing

@Suite("xp outbox status shows what each destination is owed")
struct StatusTests {
    /// Creates a store of schema 3 with one event for two destinations, delivered to one of them.
    private func store(in folder: URL) async throws -> String {
        let root = Tool.root.appending(path: "Tests/ExperimentationSQLiteTests/Fixtures/schema-3.sql")
        let sql = try String(contentsOf: root, encoding: .utf8)
        let path = folder.appending(path: "outbox.db").path
        let database = try DatabaseQueue(path: path)
        try await database.writeWithoutTransaction { database in
            try database.execute(sql: sql)
            try database.execute(
                sql: """
                    INSERT INTO destination
                    VALUES (2, 'away', 'abcdef0123456789', 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 3, 7, 1, 0, 0);
                    INSERT INTO delivery VALUES (2, 0, 5, 0, 'ada', NULL, NULL, NULL, NULL);
                    INSERT INTO delivery VALUES (2, 0, 6, 0, 'bob', NULL, NULL, NULL, NULL);
                    """
            )
        }
        try database.close()
        return path
    }

    @Test("as JSON, in the order of registration, with the total")
    func asJSON() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try await store(in: folder)
        let result = try await Tool.run(["outbox", "status", "--store", store, "--format", "json"])
        let document = try JSONValue(result.output)
        #expect(try JSONSchema(named: "ledger").problems(of: document) == [])
        let owed = try #require(document["destinations"]?.array)
        #expect(owed.map { $0["provider"]?.string } == ["home", "away"])
        #expect(owed.map { $0["account"]?.string?.count } == [64, 16])
        #expect(owed.map { $0["ledger"]?["accepted"]?.number } == [9, 3])
        #expect(owed.map { $0["ledger"]?["pending"]?.number } == [4, 2])
        #expect(owed.map { $0["waiting"]?["held"]?.number } == [1, 0])
        #expect(document["ledger"]?["accepted"]?.number == 12 && document["waiting"]?["ready"]?.number == 5)
    }

    @Test("as text, each below the total")
    func asText() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let result = try await Tool.run(["outbox", "status", "--store", try await store(in: folder)])
        #expect(result.lines.first == "accepted   12")
        let heads = result.lines.filter { $0.hasPrefix("home ") || $0.hasPrefix("away ") }
        #expect(heads == ["home 642873e7", "away abcdef01"])
        #expect(result.lines.filter { $0.hasPrefix("  accepted") } == ["  accepted   9", "  accepted   3"])
    }
}
