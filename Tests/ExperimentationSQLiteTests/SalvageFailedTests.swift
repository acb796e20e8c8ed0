#if os(Linux)
    import ChildProcesses
    import Experimentation
    import ExperimentationSQLite
    import Foundation
    import GRDB
    import Glibc
    import Testing

    extension ChildParts {
        /// Opens a store while no file may be larger than a number of bytes.
        func opensWithin(_ words: [String]) throws {
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: rlim_t(words[1]) ?? 0, rlim_max: rlim_t(words[1]) ?? 0)
            setrlimit(__rlimit_resource_t(1), &limit)
            do {
                _ = try SQLiteStore(at: URL(fileURLWithPath: words[0]))
                exit(0)
            } catch {
                exit(error.code == .store ? 7 : 8)
            }
        }
    }

    @Suite("A damaged store isn't lost while it is replaced")
    struct SalvageFailedTests {
        private let folder = TemporaryFolder()

        private func fill(_ count: Int) async throws {
            let large = TrackingEvent.custom(String(repeating: "x", count: 1_000))
            let store = try SQLiteStore(at: folder.file())
            try await store.file((0..<count).map { .sample("\($0)", large) })
            await store.close()
        }

        private func damage() async throws {
            let database = try DatabaseQueue(path: folder.file().path)
            try await database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 1") }
            try database.close()
        }

        @Test("P16 P17 without room for the data that was read, the damaged file stays until there is room")
        func withoutRoom() async throws {
            try await fill(3_000)
            try await damage()
            let status = await (try ChildPart.start("opensWithin", [folder.file().path, "1000000"])).status()
            #expect(status == 7)
            let store = try SQLiteStore(at: folder.file())
            #expect(store.hasSetAsideDamage)
            #expect(try await store.ledger() == Ledger(accepted: 3_000, pending: 3_000))
            #expect(try await store.fetch(5_000).ids == (0..<3_000).map(String.init))
        }

        @Test("P16 P17 without room to read a truncated file, it stays until there is room")
        func withoutRoomToRead() async throws {
            try await fill(3_000)
            try StoreSurgery.cut(folder.file(), to: try StoreSurgery.size(of: folder.file()) - 8_192)
            let status = await (try ChildPart.start("opensWithin", [folder.file().path, "1000000"])).status()
            #expect(status == 7)
            let store = try SQLiteStore(at: folder.file())
            #expect(store.hasSetAsideDamage)
            #expect(try await store.ledger().pending > 2_900)
        }

        @Test("P16 a lower limit doesn't keep a damaged store from being read")
        func lowerLimit() async throws {
            try await fill(3_000)
            try await damage()
            let options = StoreOptions(limits: StoreLimits(maximumBytes: 1_000_000))
            let store = try SQLiteStore(at: folder.file(), options: options)
            #expect(try await store.ledger() == Ledger(accepted: 3_000, pending: 3_000))
            try await store.file([.sample("last")])
            let ledger = try await store.ledger()
            #expect(ledger.isBalanced && ledger.pending > 500 && ledger.dropped[.overflow, default: 0] > 1_000)
        }

        @Test("P16 a process that dies after it has set the damaged file aside loses nothing")
        func killed() async throws {
            try await fill(3)
            let manager = FileManager.default
            // As that process leaves it, with the damaged file's log still there.
            try manager.moveItem(at: folder.file(), to: folder.file("store.sqlite.repaired"))
            try Data(repeating: 1, count: 5_000).write(to: folder.file("store.sqlite-wal"))
            let store = try SQLiteStore(at: folder.file())
            #expect(store.hasSetAsideDamage)
            #expect(try await store.fetch().ids == ["0", "1", "2"])
            try await store.file([.sample("3")])
            await store.close()
            #expect(try await SQLiteStore(at: folder.file()).fetch().ids == ["0", "1", "2", "3"])
            #expect(!manager.fileExists(atPath: folder.file("store.sqlite.repaired").path))
        }
    }
#endif
