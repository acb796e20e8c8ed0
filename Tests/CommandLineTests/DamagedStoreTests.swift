import Foundation
import GRDB
import Testing
import Waiting

@Suite("A store that is damaged while a command uses it has status 66")
struct DamagedStoreTests {
    /// Overwrites all pages but the first, after a commit because of which they are read again.
    private static func damage(_ store: String) async throws {
        let database = try DatabaseQueue(path: store)
        try await database.writeWithoutTransaction { database in
            try database.execute(sql: "UPDATE destination SET tried = tried")
            try database.checkpoint(.truncate)
        }
        try database.close()
        let file = try FileHandle(forUpdating: URL(filePath: store))
        let size = try file.seekToEnd()
        try file.seek(toOffset: 4_096)
        try file.write(contentsOf: Data(repeating: 0xFF, count: Int(size) - 4_096))
        try file.close()
    }

    @Test("track, if its ledger can't be read at the end")
    func track() async throws {
        let mock = try await ServedMock("flagship")
        let listener = try Silence()
        let silent = try mock.configuration(of: listener)
        let store = try await mock.filledStore(silent, count: 5)
        let pipe = try OpenPipe(in: mock.folder)
        let running = try Running([
            "track", "--config", silent, "--store", store, "--input", pipe.path, "--deadline", "0",
        ])
        try await pipe.write([#"{"user":{"id":"ada","consent":true},"event":{"type":"screenView","name":"e"}}"#])
        try await Tool.untilAccepted(6, store)
        try await Self.damage(store)
        pipe.close()
        let result = try await running.result()
        #expect(result.status == 66)
        #expect(result.complaint.hasPrefix("xp: \(store): it is damaged"), "\(result.errors)")
        #expect(result.output == "")
        _ = try await mock.end()
    }
}
