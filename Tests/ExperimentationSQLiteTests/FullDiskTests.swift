#if os(Linux)
    import ChildProcesses
    import Experimentation
    import ExperimentationSQLite
    import ExperimentationTesting
    import Foundation
    import Glibc
    import Testing

    extension ChildParts {
        /// Fills a small disk.
        func fills(_ words: [String]) async throws {
            let (folder, notes) = (URL(fileURLWithPath: words[0]), try LineFile(words[1]))
            // A file of another program, which is deleted later.
            let other = folder.appendingPathComponent("other").path
            _ = FileManager.default.createFile(atPath: other, contents: Data(repeating: 1, count: 2_000_000))
            let client = try await ExperimentationClient(
                provider: RecordingVendor(try LineFile(words[2]), delay: .zero),
                store: .sqlite(at: folder.appendingPathComponent("store.sqlite"))
            )
            await client.setConnectivity(.offline)
            let ada = client.session(for: User(id: "ada", consent: .granted))
            let eve = client.session(for: User(id: "eve", consent: .granted))
            for number in 0..<10 { try await eve.track(.custom("eve \(number)")) }
            var accepted = 10
            func track(_ times: Int) async -> [String] {
                var refusals: [String] = []
                for _ in 0..<times where refusals.count < 20 {
                    do throws(ExperimentationError) {
                        try await ada.track(.custom("ada \(accepted)", attributes: ["text": .string(words[3])]))
                        accepted += 1
                    } catch {
                        refusals.append(error.code.rawValue)
                    }
                }
                return refusals
            }
            func note(_ name: String, _ value: some Sendable) { notes.add("\(name)\t\(value)") }
            func ended(_ body: () async throws -> Void) async -> String {
                do { try await body() } catch { return (error as? ExperimentationError)?.code.rawValue ?? "\(error)" }
                return "done"
            }
            note("refusals", Set(await track(100_000)))
            let full = try await client.ledger()
            note("exact when full", full == Ledger(accepted: accepted, pending: accepted))
            note("read when full", try await client.waitingEvents(limit: 100_000).count == accepted)
            note("withdrawal when full", await ended { try await eve.setConsent(.denied) })
            await client.setConnectivity(.online)
            note("flush when full", await ended { try await client.flush(within: .seconds(10)) })
            let after = try await client.ledger()
            note("balanced when full", after.isBalanced && after.accepted >= accepted)
            note("delivered when full", after.delivered)
            try FileManager.default.removeItem(atPath: other)
            note("withdrawal with room", await ended { try await eve.setConsent(.denied) })
            note("tracking with room", await track(10))
            for _ in 0..<3 { if try await client.flush(within: .seconds(10)).isDone { break } }
            let ledger = try await client.ledger()
            note("delivered", ledger.delivered)
            note("purged", ledger.purged)
            note("balanced", ledger.isBalanced && ledger.pending == 0 && ledger.dropped.isEmpty)
            note("ada's", accepted - 10)
            await client.shutdown()
            note("end", "")
        }

        /// Fills a small disk without room for the store's reserve, then kills itself.
        func withoutReserve(_ words: [String]) async throws {
            let (folder, notes) = (URL(fileURLWithPath: words[0]), try LineFile(words[1]))
            let url = folder.appendingPathComponent("store.sqlite")
            // Another program's file takes up almost everything.
            _ = FileManager.default.createFile(
                atPath: folder.appendingPathComponent("other").path,
                contents: Data(repeating: 1, count: 7 * 1_048_576 - (Int(words[2]) ?? 0))
            )
            let store = try SQLiteStore(at: url)
            notes.add("reserve\t\(FileManager.default.fileExists(atPath: url.path + "-reserve"))")
            var accepted = 0
            var code: ErrorCode?
            while code == nil, accepted < 100_000 {
                do throws(ExperimentationError) {
                    let event = NewEvent(.sample("\(accepted)", .custom(words[3])), to: .filed)
                    _ = try await store.append([event], now: noon)
                    accepted += 1
                } catch {
                    code = error.code
                }
            }
            notes.add("refused\t\(code?.rawValue ?? "")")
            notes.add("accepted\t\(accepted)")
            notes.add("the same process\t\(await isRead(accepted) { store })")
            notes.add("beside it\t\(await isRead(accepted) { try SQLiteStore(at: url) })")
            kill(getpid(), SIGKILL)
        }

        /// Opens a store on a full disk.
        func looks(_ words: [String]) async throws {
            let (folder, notes) = (URL(fileURLWithPath: words[0]), try LineFile(words[1]))
            _ = await (try ChildPart.start("withoutReserve", words)).status()
            let accepted = LineFile.lines(of: words[1]).compactMap {
                $0.hasPrefix("accepted") ? Int($0.dropFirst(9)) : nil
            }
            // As after a restart of the machine: the log's index is missing, and there is no room to create it.
            let url = folder.appendingPathComponent("store.sqlite")
            try? FileManager.default.removeItem(atPath: url.path + "-shm")
            let filler = try LineFile(folder.appendingPathComponent("filler").path)
            for _ in 0..<3_000 { filler.add(String(repeating: "x", count: 4_095)) }
            do {
                let store = try SQLiteStore(at: url)
                notes.add("after a kill\t\(await isRead(accepted.first ?? -1) { store })")
                notes.add("tracking\t\(await ended { try await store.file([.sample("more")]) })")
                await store.close()
            } catch {
                notes.add("after a kill\t\(error)")
            }
            notes.add("end\t")
        }

        private func isRead(_ accepted: Int, _ open: () throws -> SQLiteStore) async -> String {
            do {
                let store = try open()
                let isExact = try await store.ledger() == Ledger(accepted: accepted, pending: accepted)
                let waits = try await store.status(now: noon).deliverable == accepted
                let isWhole = try await store.waiting(limit: 1_000_000).count == accepted
                return "\(isExact && waits && isWhole)"
            } catch {
                return "\(error)"
            }
        }

        private func ended(_ body: () async throws -> Void) async -> String {
            do { try await body() } catch { return (error as? ExperimentationError)?.code.rawValue ?? "\(error)" }
            return "done"
        }

        /// Writes with a limit on file size.
        func limited(_ words: [String]) async throws {
            // Exceeding the limit is then an error instead of a signal.
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit()
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            getrlimit(resource, &limit)
            func setLimit(_ bytes: rlim_t) {
                limit.rlim_cur = bytes
                setrlimit(resource, &limit)
            }
            func code(_ body: () async throws -> Void) async -> String {
                do { try await body() } catch { return (error as? ExperimentationError)?.code.rawValue ?? "\(error)" }
                return "none"
            }
            let url = URL(fileURLWithPath: words[0])
            let store = try SQLiteStore(at: url)
            for number in 0..<5 { try await store.file([.sample("\(number)")]) }
            setLimit(0)
            var lines = [await code { try await store.file([.sample("5")]) }]
            lines.append(await code { _ = try await store.fetch() })
            lines.append(
                await code {
                    _ = try await store.setConsent([ConsentChange(userID: "u", isGranted: false)])
                }
            )
            lines.append("\(try await store.ledger().pending)")
            lines.append("\(try await store.waiting().count)")
            let other = url.deletingLastPathComponent().appendingPathComponent("other.sqlite")
            lines.append(await code { _ = try SQLiteStore(at: other) })
            setLimit(limit.rlim_max)
            lines.append(await code { try await store.file([.sample("6")]) })
            lines.append(try await store.fetch().ids.joined(separator: " "))
            lines.append(await code { await (try SQLiteStore(at: other)).close() })
            let notes = try LineFile(words[1])
            for line in lines { notes.add(line) }
        }
    }

    @Suite("A disk without room", .serialized)
    struct FullDiskTests {
        private let folder = TemporaryFolder()

        /// Returns a command that runs a process with a disk of its own of 7 MB; `nil` without the right to mount one.
        private static func mounting() async -> [String]? {
            for flags in ["-rm", "-m"] {
                let script = #"mount -t tmpfs -o size=7m,mode=0700 tmpfs "$0" && exec "$@""#
                let words = ["/usr/bin/unshare", flags, "/bin/sh", "-c", script]
                let trial = try? ChildProcess(URL(filePath: words[0]), words.dropFirst() + ["/mnt", "/bin/true"])
                if await trial?.status() == 0 { return words }
            }
            return nil
        }

        @Test(
            "P17 a full disk is survived: typed errors, exact ledgers, deliveries continue, nothing lost",
            .enabled("this system doesn't allow mounting a small disk (unshare -rm)") { await mounting() != nil }
        )
        func full() async throws {
            let disk = folder.url.appendingPathComponent("disk")
            try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: true)
            let (notes, received) = (folder.file("notes").path, folder.file("received").path)
            let child = try ChildPart.start(
                "fills",
                [disk.path, notes, received, String(repeating: "x", count: 300)],
                by: try #require(await Self.mounting()) + [disk.path]
            )
            #expect(await child.status() == 0)
            let lines = LineFile.lines(of: notes).map { $0.split(separator: "\t", omittingEmptySubsequences: false) }
            let told = Dictionary(lines.map { (String($0[0]), String($0[1])) }, uniquingKeysWith: { $1 })
            #expect(told["end"] != nil)
            #expect(told["refusals"] == "[\"STORE\"]")
            for name in ["exact when full", "read when full", "balanced when full", "balanced"] {
                #expect(told[name] == "true", "\(name)")
            }
            let delivered = told["delivered when full"].flatMap { Int($0) } ?? 0
            #expect(delivered > 100, "what is deleted is written to the log first; there is room for that")
            #expect(told["withdrawal with room"] == "done")
            #expect(told["tracking with room"] == "[]")
            let ids = LineFile.lines(of: received)
            let count = try #require(told["ada's"].flatMap { Int($0) })
            #expect(count > 100)
            #expect(Set(ids).count == count)
        }

        @Test(
            "P17 a store on a disk that was nearly full from the beginning can still be inspected",
            .enabled("this system doesn't allow mounting a small disk (unshare -rm)") { await mounting() != nil },
            arguments: [300_000, 400_000, 1_000_000]
        )
        func withoutReserve(room: Int) async throws {
            let disk = folder.url.appendingPathComponent("disk")
            try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: true)
            let notes = folder.file("notes").path
            let child = try ChildPart.start(
                "looks",
                [disk.path, notes, "\(room)", String(repeating: "x", count: 300)],
                by: try #require(await Self.mounting()) + [disk.path]
            )
            #expect(await child.status() == 0)
            let lines = LineFile.lines(of: notes).map { $0.split(separator: "\t", omittingEmptySubsequences: false) }
            let told = Dictionary(lines.map { (String($0[0]), String($0[1])) }, uniquingKeysWith: { $1 })
            #expect(told["reserve"] == "false")
            #expect(told["refused"] == "STORE")
            #expect((told["accepted"].flatMap { Int($0) } ?? 0) > 0)
            for name in ["the same process", "beside it", "after a kill"] {
                #expect(told[name] == "true", "\(name): \(told[name] ?? "")")
            }
            #expect(told["tracking"] == "STORE")
            #expect(told["end"] != nil)
        }

        @Test("P16 P17 a file that may not grow is a typed error, can be read, and is written again once it may")
        func limited() async throws {
            try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
            let notes = folder.file("notes").path
            let child = try ChildPart.start("limited", [folder.file().path, notes])
            #expect(await child.status() == 0)
            #expect(
                LineFile.lines(of: notes) == [
                    "STORE", "STORE", "STORE", "5", "5", "STORE", "none", "0 1 2 3 4 6", "none",
                ]
            )
        }
    }
#endif
