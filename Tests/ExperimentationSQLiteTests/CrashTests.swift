#if os(Linux)
    import ChildProcesses
    import Experimentation
    import ExperimentationSQLite
    import Foundation
    import GRDB
    import Testing
    import Waiting

    @Suite("A killed process loses nothing", .serialized)
    struct CrashTests {
        private let folder = TemporaryFolder()

        init() throws { try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true) }

        private func waitForLine(in path: String, _ isEnough: ([String]) -> Bool) async throws {
            try await eventually("enough lines in \(path)") { isEnough(LineFile.lines(of: path)) }
        }

        private func expectIntegrity() async throws {
            let database = try DatabaseQueue(path: folder.file().path)
            #expect(try await database.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
            try database.close()
        }

        private func waiting(in store: SQLiteStore) async throws -> [Envelope] {
            var waiting: [Envelope] = []
            while case let page = try await store.waiting(after: waiting.last?.sequence ?? 0, limit: 10_000),
                !page.isEmpty
            {
                waiting += page.map(\.envelope)
            }
            return waiting
        }

        /// Every acknowledged event is stored once, and each caller's are in the order of its calls.
        private func expectAll(_ acknowledged: [String], in stored: [String]) throws {
            #expect(Set(acknowledged).subtracting(stored).isEmpty)
            #expect(Set(stored).count == stored.count)
            var last: [Substring: Int] = [:]
            for id in stored {
                let parts = id.split(separator: "-")
                let number = try #require(Int(parts[2]))
                #expect(number > last[id.dropLast(parts[2].count), default: -1])
                last[id.dropLast(parts[2].count)] = number
            }
        }

        @Test("P01 events of many callers survive a process kill where each commit waits for the disk")
        func together() async throws {
            var dice = SplitMix(seed: 2)
            let notes = folder.file("tracked").path
            for round in 0..<(isSoak ? 100 : 5) {
                let before = LineFile.lines(of: notes).count
                let child = try ChildPart.start("tracks", [folder.file().path, notes, "\(round)"])
                try await waitForLine(in: notes) { $0.count > before + 100 }
                try await pause(.milliseconds(Int.random(in: 0...100, using: &dice)))
                await child.kill()
            }
            try await expectIntegrity()
            let store = try SQLiteStore(at: folder.file())
            let tracked = try await waiting(in: store).compactMap { envelope in
                if case .custom(let name, _) = envelope.event.kind { name } else { nil }
            }
            try expectAll(LineFile.lines(of: notes), in: tracked)
        }

        @Test("P01 an accepted event survives a process kill")
        func acceptance() async throws {
            var dice = SplitMix(seed: 1)
            let (kills, least) = isSoak ? (200, 300_000) : (6, 100)
            // Two hundred long lives would fill gigabytes, which each process checks when it opens the store.
            let longest = isSoak ? 80 : 250
            var acknowledged: [String] = []
            var round = 0
            // A slow machine accepts less in each life, and needs more of them for the full figure.
            while round < kills || acknowledged.count < least, round < 5 * kills {
                let notes = folder.file("acknowledged-\(round)").path
                let child = try ChildPart.start("accepts", [folder.file().path, notes, "\(round)"])
                try await waitForLine(in: notes) { !$0.isEmpty }
                try await pause(.milliseconds(Int.random(in: 20...longest, using: &dice)))
                await child.kill()
                acknowledged += LineFile.lines(of: notes)
                round += 1
                if round.isMultiple(of: 20) { try await expectIntegrity() }
            }
            try await expectIntegrity()
            let store = try SQLiteStore(
                at: folder.file(),
                options: .init(limits: StoreLimits(maximumCount: 10_000_000, maximumBytes: 1 << 32))
            )
            #expect(!store.hasSetAsideDamage)
            let stored = try await waiting(in: store).map(\.id)
            try expectAll(acknowledged, in: stored)
            #expect(acknowledged.count >= least)
            try await store.expectBalance(stored.count)
            print(
                "P01: \(round) kills, \(acknowledged.count) accepted, \(Set(acknowledged).subtracting(stored).count) lost"
            )
        }

        @Test("P01 an exposure survives a process kill once untilStored() has returned")
        func exposures() async throws {
            var dice = SplitMix(seed: 3)
            let notes = folder.file("exposed").path
            for round in 0..<(isSoak ? 50 : 6) {
                let before = LineFile.lines(of: notes).count
                let child = try ChildPart.start("exposes", [folder.file().path, notes, "\(round)"])
                try await waitForLine(in: notes) { $0.count > before }
                try await pause(.milliseconds(Int.random(in: 0...60, using: &dice)))
                await child.kill()
            }
            let store = try SQLiteStore(at: folder.file())
            var exposed: [String] = []
            var end: Int64 = 0
            while case let page = try await store.waiting(after: end, limit: 10_000), let last = page.last {
                exposed += page.filter { $0.envelope.event.type == "exposure" }.map(\.envelope.identity.id)
                end = last.envelope.sequence
            }
            let told = LineFile.lines(of: notes)
            #expect(Set(told).subtracting(exposed).isEmpty)
            #expect(Set(exposed).count == exposed.count)
            #expect(told.count >= 6)
        }

        @Test(
            "P02 every accepted event is delivered at least once across kills, repetitions with the same id and content"
        )
        func delivery() async throws {
            var dice = SplitMix(seed: 2)
            let kills = isSoak ? 100 : 5
            let each = isSoak ? 200 : 60
            let received = folder.file("received").path
            let acknowledged = folder.file("acknowledged").path
            for round in 0..<kills {
                let before = LineFile.lines(of: acknowledged).count
                let delay = Int.random(in: 0...50, using: &dice)
                let child = try ChildPart.start(
                    "delivers",
                    [folder.file().path, received, acknowledged, "\(delay)", "\(each)", "\(round)"]
                )
                try await waitForLine(in: acknowledged) { $0.count > before }
                try await pause(.milliseconds(Int.random(in: 0...200, using: &dice)))
                await child.kill()
            }
            let last = try ChildPart.start("delivers", [folder.file().path, received, acknowledged, "0", "0", "end"])
            #expect(await last.status() == 0)
            let accepted = LineFile.lines(of: acknowledged)
            let lines = LineFile.lines(of: received)
            let delivered = lines.map { String($0.prefix { $0 != "\t" }) }
            #expect(Set(accepted).subtracting(delivered).isEmpty)
            // A repetition is an identical line: name, id and date.
            #expect(Set(lines).count == Set(delivered).count)
            #expect(lines.count - Set(lines).count <= kills * 20)
            let again = Self.batchesSentAgain(LineFile.lines(of: received + "-batches"))
            #expect(again.values.allSatisfy { $0 <= 2 }, "\(again)")
            let store = try SQLiteStore(at: folder.file())
            let ledger = try await store.ledger()
            #expect(ledger.pending == 0 && ledger.isBalanced && ledger.accepted >= accepted.count, "\(ledger)")
            print("P02: \(kills) kills, \(accepted.count) accepted, \(lines.count - Set(lines).count) repeats")
        }

        /// The number of batches of each life that a later one sent again, completely or in part.
        private static func batchesSentAgain(_ lines: [String]) -> [String: Int] {
            var again: [String: Int] = [:]
            var later: [String: Set<String>] = [:]
            for line in lines.reversed() {
                let words = line.split(separator: "\t").map(String.init)
                let (round, ids) = (words[0], Set(words.dropFirst()))
                if later.contains(where: { $0.key != round && !$0.value.isDisjoint(with: ids) }) {
                    again[round, default: 0] += 1
                }
                later[round, default: []].formUnion(ids)
            }
            return again
        }

        @Test("P22 events leased by a killed process can be delivered again", arguments: [true, false])
        func leases(isAlone: Bool) async throws {
            let notes = folder.file("leased").path
            for round in 0..<(isSoak ? 50 : 2) {
                let file = folder.file("\(round).sqlite")
                let store = try SQLiteStore(at: file)
                try await store.append((0..<20).map { .sample("\(round)-\($0)") })
                if isAlone { await store.close() }
                let child = try ChildPart.start("hangs", [file.path, notes])
                try await waitForLine(in: notes) { $0.last == "done" && $0.contains("\(round)-19") }
                await child.kill()
                if isAlone {
                    // No other process has the file, so the lane is free at once.
                    let next = try SQLiteStore(at: file)
                    #expect(try await next.take(at: Date())?.ids.count == 20)
                } else {
                    // Another process has the file, so the lane is free only after the lease of one second.
                    #expect(try await store.take(at: Date() - 5) == nil)
                    #expect(try await store.take(at: Date() + 1.5)?.ids.count == 20)
                    await store.close()
                }
            }
        }

        @Test(
            "P20 several processes share a store: nothing is lost, nothing doubled, and no call fails because it is busy"
        )
        func sharing() async throws {
            let each = isSoak ? 5_000 : 250
            let end = folder.file("end").path
            let writers = try (0..<4).map {
                try ChildPart.start("shares", [folder.file().path, folder.file("written").path, "\(each)", "w\($0)"])
            }
            let drainers = try (0..<2).map { _ in
                try ChildPart.start("drains", [folder.file().path, folder.file("drained").path, end])
            }
            for writer in writers { #expect(await writer.status() == 0) }
            let store = try SQLiteStore(at: folder.file(), options: .init(limits: StoreLimits(maximumCount: 1_000_000)))
            try await eventually("an empty store") { try await store.ledger().pending == 0 }
            try Data().write(to: URL(fileURLWithPath: end))
            for drainer in drainers { #expect(await drainer.status() == 0) }
            let written = LineFile.lines(of: folder.file("written").path)
            let drained = LineFile.lines(of: folder.file("drained").path)
            #expect(written.filter { $0.hasPrefix("error") }.isEmpty)
            #expect(written.count == 4 * each)
            #expect(drained.count == 4 * each && Set(drained) == Set(written))
            #expect(try await store.ledger() == Ledger(accepted: 4 * each, delivered: 4 * each))
        }
    }
#endif
