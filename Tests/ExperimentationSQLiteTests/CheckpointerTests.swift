import Dispatch
import Experimentation
import Foundation
import GRDB
import Testing

@testable import ExperimentationSQLite

@Suite("The log, written back beside the commits")
struct CheckpointerTests {
    private let folder = TemporaryFolder()

    init() throws { try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true) }

    @Test("the log is written back before a commit has to do it")
    func early() throws {
        let checkpointer = Checkpointer(path: folder.file().path, pages: 400)
        let database = try open(followedBy: checkpointer)
        try database.writeWithoutTransaction { database in
            try lengthenLog(to: 240, database)
            checkpointer.finish()
            #expect(pagesWritten < 10)
            try lengthenLog(to: 250, database)
            checkpointer.finish()
            #expect(pagesWritten > 70)
            // All of it is written back, so the next commits overwrite it from its beginning.
            let length = lengthOfLog
            for _ in 0..<20 { try addPage(to: database) }
            #expect(lengthOfLog == length)
        }
    }

    @Test("a commit writes the log back if that can't be done beside the commits, and no file is created in its place")
    func alone() throws {
        let missing = folder.file("missing.sqlite")
        let checkpointer = Checkpointer(path: missing.path, pages: 40)
        try open(followedBy: checkpointer).writeWithoutTransaction { database in
            for _ in 0..<100 { try addPage(to: database) }
        }
        checkpointer.finish()
        #expect(pagesWritten > 80)
        #expect(lengthOfLog < 50)
        #expect(!FileManager.default.fileExists(atPath: missing.path))
    }

    @Test("the log isn't written back beside the commits right after a commit did it: SQLite could lose the next one")
    func writtenBackMeanwhile() throws {
        let (queue, other) = (DispatchQueue(label: "held up"), folder.file("other.sqlite"))
        let another = try open(other)
        try another.writeWithoutTransaction { try addPage(to: $0) }
        let before = size(of: other)
        // What it does can be seen in a file where nothing else does it.
        let checkpointer = Checkpointer(path: other.path, pages: 40, queue: queue)
        let database = try open(followedBy: checkpointer)
        queue.suspend()
        try database.writeWithoutTransaction { try lengthenLog(to: 40, $0) }
        queue.resume()
        checkpointer.finish()
        #expect(size(of: other) == before)
        try database.writeWithoutTransaction { database in
            // From the log's beginning.
            for _ in 0..<25 { try addPage(to: database) }
        }
        checkpointer.finish()
        #expect(size(of: other) > before)
        try another.close()
    }

    @Test("the log isn't written into another file that has taken the name of the database")
    func replaced() throws {
        let checkpointer = Checkpointer(path: folder.file().path, pages: 400)
        let database = try open(followedBy: checkpointer)
        try database.writeWithoutTransaction { try lengthenLog(to: 100, $0) }
        let backup = folder.file("backup.sqlite")
        try open(backup).close()
        let bytes = try Data(contentsOf: backup)
        #expect(rename(backup.path, folder.file().path) == 0)
        try database.writeWithoutTransaction { try lengthenLog(to: 260, $0) }
        checkpointer.finish()
        #expect(try Data(contentsOf: folder.file()) == bytes)
    }

    @Test("the log is no longer written back beside the commits after the checkpointer was closed")
    func closed() throws {
        let checkpointer = Checkpointer(path: folder.file().path, pages: 400)
        let database = try open(followedBy: checkpointer)
        checkpointer.close()
        try database.writeWithoutTransaction { try lengthenLog(to: 300, $0) }
        checkpointer.finish()
        #expect(pagesWritten < 10)
    }

    @Test("emptying the log waits until it is written back", arguments: 1...20)
    func emptied(round: Int) throws {
        let connection = try StoreConnection(path: folder.file().path, StoreOptions(), isExclusive: false)
        defer { connection.close() }
        try connection.database.writeWithoutTransaction { database in
            // Up to the commit that begins it.
            try lengthenLog(to: 450, database)
            try connection.emptyLog(database)
        }
        #expect(lengthOfLog == 0)
    }

    @Test(
        "a store whose commits wait for the disk, or that no other connection may open, leaves the log to its commits",
        arguments: [(Durability.powerLoss, false), (.process, true)]
    )
    func left(durability: Durability, isExclusive: Bool) throws {
        let options = StoreOptions(durability: durability, limits: StoreLimits(maximumBytes: 4_096_000))
        let connection = try StoreConnection(path: folder.file().path, options, isExclusive: isExclusive)
        defer { connection.close() }
        try connection.database.writeWithoutTransaction { database in
            try lengthenLog(to: 95, database)
            #expect(pagesWritten < 20)
            try lengthenLog(to: 100, database)
            #expect(pagesWritten > 25)
        }
    }

    @Test("where another process writes as well, only commits write the log back, and block the other meanwhile")
    func shared() throws {
        let other = folder.file("other.sqlite")
        let another = try open(other)
        try another.writeWithoutTransaction { try addPage(to: $0) }
        let before = size(of: other)
        // Whether it holds off writers can be seen in a file of its own.
        let checkpointer = Checkpointer(path: other.path, pages: 40)
        let database = try open(followedBy: checkpointer)
        checkpointer.share()
        try another.writeWithoutTransaction { another in
            try another.beginTransaction(.immediate)
            try database.writeWithoutTransaction { try lengthenLog(to: 44, $0) }
            checkpointer.finish()
            #expect(pagesWritten < 10)
            try another.rollback()
        }
        try database.writeWithoutTransaction { try addPage(to: $0) }
        #expect(pagesWritten > 15)
        #expect(size(of: other) == before)
        try another.writeWithoutTransaction { try addPage(to: $0) }
        try another.close()
    }

    @Test("a store leaves the log to its commits once another store has written to the file")
    func twoStores() async throws {
        let options = StoreOptions(limits: StoreLimits(maximumBytes: 40_960_000))
        let stores = try (0..<2).map { _ in try SQLiteStore(at: folder.file(), options: options) }
        for number in 0..<2 { for store in stores { try await store.append([.sample("\(number)")]) } }
        let before = pagesWritten
        // Less than the limit of 600, but enough to be written back beside the commits.
        var number = 2
        while lengthOfLog < 550 {
            try await stores[0].append([.sample("\(number)")])
            number += 1
        }
        await stores[1].close()
        #expect(pagesWritten == before)
        await stores[0].close()
        #expect(pagesWritten > before)
        #expect(lengthOfLog == 0)
    }

    // MARK: Fixtures

    private func open(followedBy checkpointer: Checkpointer) throws -> DatabaseQueue {
        try open(folder.file()) { checkpointer.follow($0) }
    }

    private func open(_ file: URL, preparing: @escaping @Sendable (Database) -> Void = { _ in }) throws -> DatabaseQueue
    {
        var configuration = Configuration()
        configuration.prepareDatabase { preparing($0) }
        let database = try DatabaseQueue(path: file.path, configuration: configuration)
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        return database
    }

    /// Commits single pages until the log has a length in pages.
    private func lengthenLog(to length: Int, _ database: Database) throws {
        while lengthOfLog < length { try addPage(to: database) }
    }

    private func addPage(to database: Database) throws {
        try database.execute(sql: "CREATE TABLE IF NOT EXISTS page (bytes BLOB)")
        try database.execute(sql: "INSERT INTO page VALUES (randomblob(4000))")
    }

    /// The number of pages in the database without its log.
    private var pagesWritten: Int { size("") / 4_096 }

    /// The number of pages that the log has room for.
    private var lengthOfLog: Int { size("-wal") / (4_096 + 24) }

    private func size(_ ending: String) -> Int { size(of: URL(fileURLWithPath: folder.file().path + ending)) }

    private func size(of file: URL) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int) ?? 0
    }
}
