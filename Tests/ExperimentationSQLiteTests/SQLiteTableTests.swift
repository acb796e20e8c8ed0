import Experimentation
import ExperimentationSQLite
import Foundation
import GRDB
import Testing

@Suite("A table in another program's file")
struct SQLiteTableTests {
    private func inFile(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "table-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appending(path: "former.db"))
    }

    @Test("is read row by row while its program has it open, and isn't changed", arguments: [false, true])
    func reads(hasLog: Bool) throws {
        try inFile { file in
            let queue = try DatabaseQueue(path: file.path)
            defer { try? queue.close() }
            if hasLog { try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") } }
            try queue.write { database in
                try database.execute(
                    sql: """
                        CREATE TABLE "a ""table" (id TEXT PRIMARY KEY, body TEXT, count INTEGER, at REAL, bytes BLOB);
                        INSERT INTO "a ""table" VALUES ('b', '{"x":1}', 7, 0.5, x'6869'), ('a', NULL, NULL, NULL, x'FF');
                        """
                )
            }
            let table = SQLiteTable("a \"table", in: file)
            #expect(
                try table.rows() == [
                    ["id": "b", "body": #"{"x":1}"#, "count": 7, "at": 0.5, "bytes": "hi"],
                    ["id": "a", "body": .null, "count": .null, "at": .null, "bytes": .null],
                ]
            )
            #expect(try table.values(of: "body", by: "id") == ["b": Data(#"{"x":1}"#.utf8)])
            #expect(try table.values(of: "nothing", by: "id") == [:])
        }
    }

    @Test("a missing file has no rows; a file that is no database, or lacks the table, is an error")
    func absent() throws {
        try inFile { file in
            #expect(try SQLiteTable("t", in: file).rows() == [])
            try Data("nonsense, and enough of it to be no database at all".utf8).write(to: file)
            #expect(throws: ExperimentationError.self) { try SQLiteTable("t", in: file).rows() }
            try FileManager.default.removeItem(at: file)
            try DatabaseQueue(path: file.path).close()
            #expect(throws: ExperimentationError.self) { try SQLiteTable("t", in: file).rows() }
        }
    }
}
