#if os(Linux)
    import ChildProcesses
    import Experimentation
    import ExperimentationSQLite
    import Foundation
    import Glibc
    import Testing

    extension ChildParts {
        /// Accepts events without room for them, after another store has delivered some.
        func failsToCommit(_ words: [String]) async throws {
            signal(SIGXFSZ, SIG_IGN)
            let url = URL(fileURLWithPath: words[0])
            let one = try SQLiteStore(at: url)
            let two = try SQLiteStore(at: url)
            let opener = words[1] == "first" ? try SQLiteStore(at: url) : one
            try await one.file((0..<10).map { .sample("\($0)") })
            try await two.deliver(3)
            var limit = rlimit(rlim_cur: 10_000, rlim_max: 10_000)
            setrlimit(__rlimit_resource_t(1), &limit)
            do {
                try await opener.file((10..<310).map { .sample("\($0)") })
                exit(8)
            } catch {
                exit(7)
            }
        }
    }

    @Suite("A failed transaction leaves the copy of the ledgers correct")
    struct FailedCommitTests {
        private let folder = TemporaryFolder()

        @Test(
            "P16 P20 the copy includes what another process delivered meanwhile, and nothing that was rolled back",
            arguments: ["later", "first"]
        )
        func copy(_ transaction: String) async throws {
            let child = try ChildPart.start("failsToCommit", [folder.file().path, transaction])
            #expect(await child.status() == 7)
            for ending in ["", "-wal"] { try StoreSurgery.cut(folder.file("store.sqlite" + ending), to: 0) }
            let store = try SQLiteStore(at: folder.file())
            let ledger = Ledger(accepted: 10, delivered: 3, dropped: [.unreadable: 7])
            #expect(try await store.ledger() == ledger)
        }
    }
#endif
