import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import GRDB
import Testing

@Suite("A store whose file is deleted or replaced while it is open goes on")
struct StoreReplacedTests {
    private let folder = TemporaryFolder()
    private let log = LoggedNames()

    private func remove(_ endings: [String]) throws {
        for ending in endings { try FileManager.default.removeItem(at: folder.file("store.sqlite" + ending)) }
    }

    @Test(
        "events accepted before and after are in the current file",
        arguments: [[""], ["", "-wal", "-shm"], ["", "-wal", "-shm", "-lock", "-reserve"]]
    )
    func deleted(_ endings: [String]) async throws {
        let store = try SQLiteStore(at: folder.file(), log: log)
        try await store.file((0..<5).map { .sample("\($0)") }, to: [.filed, .alsoFiled])
        try await store.file([.sample("held", user: "eve")], isHeld: true)
        try await store.deliver(2)
        try await store.setValue([1, 2], for: "kept")
        _ = try await store.setConsent([ConsentChange(userID: "bob", isGranted: false)])
        try await store.finishErasing()
        try remove(endings)
        try await store.file((5..<15).map { .sample("\($0)") })
        #expect(log.names == ["store.replaced"])
        func check(_ store: SQLiteStore) async throws {
            #expect(try await store.ledger(of: .filed) == Ledger(accepted: 16, delivered: 2, pending: 14))
            #expect(try await store.ledger(of: .alsoFiled) == Ledger(accepted: 5, pending: 5))
            #expect(try await store.fetch().ids == (2..<15).map(String.init))
            #expect(try await store.status(of: .filed, now: noon).held == 1)
            #expect(try await store.value(for: "kept") == [1, 2])
            let late = [NewEvent(.sample("late", user: "bob"), to: .filed)]
            #expect(try await store.append(late, now: noon).map { $0?.code } == [.consentDenied])
        }
        try await check(store)
        await store.close()
        let next = try SQLiteStore(at: folder.file())
        #expect(!next.hasSetAsideDamage)
        try await check(next)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(names.contains("store.sqlite-lock") && names.contains("store.sqlite-reserve"))
    }

    @Test("the whole folder may be deleted")
    func folderDeleted() async throws {
        let store = try SQLiteStore(at: folder.file(), log: log)
        try await store.file([.sample("1")])
        try FileManager.default.removeItem(at: folder.url)
        try await store.file([.sample("2")])
        await store.close()
        #expect(try await SQLiteStore(at: folder.file()).fetch().ids == ["1", "2"])
    }

    @Test("waiting events survive closing a store whose file was deleted")
    func closed() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.file([.sample("1"), .sample("2")])
        try remove([""])
        await store.close()
        #expect(try await SQLiteStore(at: folder.file()).fetch().ids == ["1", "2"])
    }

    @Test("a lease ends with its file, and events delivered under it aren't delivered again")
    func leased() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.file((0..<6).map { .sample("\($0)") })
        let batch = try await store.fetch(3)
        try remove([""])
        try await store.file([.sample("6")])
        #expect(try await !store.isCurrent(batch.token))
        #expect(try await !store.finish(batch))
        #expect(try await !store.finish(batch))
        #expect(try await store.ledger() == Ledger(accepted: 7, delivered: 3, pending: 4))
        #expect(try await store.fetch().ids == ["3", "4", "5", "6"])
    }

    @Test("a store that has taken the file's place gets all events added, and none of its own is settled by mistake")
    func anotherStore() async throws {
        let store = try SQLiteStore(at: folder.file(), log: log)
        try await store.file((0..<4).map { .sample("ours \($0)") })
        try await store.deliver(1)
        _ = try await store.setConsent([ConsentChange(userID: "bob", isGranted: false)])
        try await store.finishErasing()
        let batch = try await store.fetch(2)
        let other = try SQLiteStore(at: folder.file("other"))
        try await other.file((0..<5).map { .sample("theirs \($0)", user: "cyd") }, to: [.filed, .alsoFiled])
        try await other.deliver(2)
        _ = try await other.setConsent([ConsentChange(userID: "dan", isGranted: false)])
        await other.close()
        try remove(["", "-wal", "-shm"])
        try FileManager.default.moveItem(at: folder.file("other"), to: folder.file())
        try await store.file([.sample("ours 4")])
        // Here its sequence numbers belong to other events.
        #expect(try await !store.finish(batch))
        #expect(try await store.ledger(of: .filed) == Ledger(accepted: 10, delivered: 3, pending: 7))
        #expect(try await store.ledger(of: .alsoFiled) == Ledger(accepted: 5, pending: 5))
        let ids = try await store.fetch().ids
        #expect(ids == ["theirs 2", "theirs 3", "theirs 4", "ours 1", "ours 2", "ours 3", "ours 4"])
        for user in ["bob", "dan"] {
            let late = [NewEvent(.sample("late", user: user), to: .filed)]
            #expect(try await store.append(late, now: noon).map { $0?.code } == [.consentDenied], "\(user)")
            _ = try await store.setConsent([ConsentChange(userID: user, isGranted: true)])
            #expect(try await store.append(late, now: noon).map { $0?.code } == [nil], "\(user)")
        }
        #expect(log.names == ["store.replaced"])
    }

    @Test("an earlier copy of the same store doesn't duplicate its events")
    func backup() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.file([.sample("1"), .sample("2")])
        await store.close()
        try FileManager.default.copyItem(at: folder.file(), to: folder.file("backup"))
        let again = try SQLiteStore(at: folder.file())
        try await again.deliver(1)
        try await again.file([.sample("3")])
        try remove(["", "-wal", "-shm"])
        try FileManager.default.moveItem(at: folder.file("backup"), to: folder.file())
        try await again.file([.sample("4")])
        #expect(try await again.fetch().ids == ["2", "3", "4"])
        #expect(try await again.ledger() == Ledger(accepted: 4, delivered: 1, pending: 3))
    }

    @Test("another program's file is rejected and left unchanged, and nothing is accepted until it is removed")
    func foreign() async throws {
        let store = try SQLiteStore(at: folder.file(), log: log)
        try await store.file([.sample("1")])
        try remove(["", "-wal", "-shm"])
        let database = try DatabaseQueue(path: folder.file().path)
        try await database.write { try $0.execute(sql: "CREATE TABLE recipe (name TEXT)") }
        try database.close()
        for _ in 0..<3 {
            let error = await #expect(throws: ExperimentationError.self) { try await store.file([.sample("2")]) }
            #expect(error?.code == .configuration)
        }
        #expect(try await store.ledger() == Ledger(accepted: 1, pending: 1))
        let again = try DatabaseQueue(path: folder.file().path)
        #expect(try await again.read { try $0.tableExists("recipe") })
        try again.close()
        try remove([""])
        try await store.file([.sample("3")])
        #expect(try await store.fetch().ids == ["1", "3"])
        #expect(log.names == ["store.replaced"])
    }

    @Test("two stores with the same deleted file open carry its events over once")
    func twoStores() async throws {
        let one = try SQLiteStore(at: folder.file())
        let two = try SQLiteStore(at: folder.file())
        try await one.file([.sample("1")])
        try await two.file([.sample("2")])
        try remove([""])
        try await one.file([.sample("3")])
        try await two.file([.sample("4")])
        try await one.file([.sample("5")])
        #expect(try await two.fetch().ids == ["1", "2", "3", "4", "5"])
        #expect(try await one.ledger() == Ledger(accepted: 5, pending: 5))
    }

    @Test("a second store with the replaced file open settles none of the new file's events by mistake")
    func twoStoresReplaced() async throws {
        let one = try SQLiteStore(at: folder.file())
        let two = try SQLiteStore(at: folder.file())
        try await one.file((0..<4).map { .sample("ours \($0)") })
        let batch = try await two.fetch(2)
        let other = try SQLiteStore(at: folder.file("other"))
        try await other.file((0..<3).map { .sample("theirs \($0)") })
        await other.close()
        try remove(["", "-wal", "-shm"])
        try FileManager.default.moveItem(at: folder.file("other"), to: folder.file())
        try await one.file([.sample("ours 4")])
        // Here its sequence numbers belong to other events.
        #expect(try await !two.finish(batch))
        let ids = ["theirs 0", "theirs 1", "theirs 2", "ours 0", "ours 1", "ours 2", "ours 3", "ours 4"]
        #expect(try await two.fetch().ids == ids)
        #expect(try await one.ledger(of: .filed) == Ledger(accepted: 8, pending: 8))
    }

    @Test("users and keys that differ only after a zero byte stay apart when a file is moved")
    func zeroBytes() async throws {
        let store = try SQLiteStore(at: folder.file())
        let users = ["e", "e\u{0}", "e\u{0}x"]
        for (number, user) in users.enumerated() {
            try await store.file([.sample("\(number)", user: user)])
            try await store.file([.sample("held \(number)", user: user)], isHeld: true)
            try await store.setValue([UInt8(number)], for: user)
        }
        try remove(["", "-wal", "-shm"])
        for (number, user) in users.enumerated() {
            #expect(try await store.value(for: user) == [UInt8(number)])
        }
        #expect(try await store.keys(beginningWith: "e") == users)
        #expect(try await store.setConsent([ConsentChange(userID: users[2], isGranted: false)]).removed == 2)
        #expect(try await store.setConsent([ConsentChange(userID: users[0], isGranted: true)]).released == 1)
        #expect(try await store.fetch().ids == ["0", "held 0", "1"])
        try await store.removeAll(beginningWith: ["e\u{0}"])
        #expect(try await store.keys(beginningWith: "e") == ["e"])
    }

    @Test("many concurrent callers lose nothing while the file is repeatedly deleted")
    func manyCallers() async throws {
        let store = try SQLiteStore(at: folder.file())
        for round in 0..<5 {
            try await withThrowingTaskGroup { group in
                for caller in 0..<20 {
                    group.addTask { try await store.file([.sample("\(round)-\(caller)", user: "u\(caller)")]) }
                }
                try remove([""])
                try await group.waitForAll()
            }
        }
        #expect(try await store.ledger() == Ledger(accepted: 100, pending: 100))
        #expect(Set(try await store.fetch().ids).count == 100)
    }

    @Test("many concurrent denials never find the file locked")
    func manyDenials() async throws {
        let store = try SQLiteStore(at: folder.file(), options: .init(busyTimeout: .zero))
        try await withThrowingTaskGroup { group in
            for user in 0..<200 {
                group.addTask {
                    try await store.file([.sample("\(user)", user: "u\(user)")])
                    _ = try await store.setConsent([ConsentChange(userID: "u\(user)", isGranted: false)])
                    if user % 10 == 0 { try await store.finishErasing() }
                    _ = try await store.waiting(limit: 3)
                }
            }
            try await group.waitForAll()
        }
        try await store.finishErasing()
        #expect(try await store.ledger() == Ledger(accepted: 200, purged: 200))
    }
}
