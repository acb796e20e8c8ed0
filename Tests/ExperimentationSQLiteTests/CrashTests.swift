#if os(Linux)
    import Experimentation
    import ExperimentationSQLite
    import ExperimentationTesting
    import Foundation
    import GRDB
    import Testing

    /// What children do; as a test of the parent they do nothing.
    @Suite("ChildParts")
    struct ChildParts {
        @Test("ChildParts accepts until it is killed")
        func accepts() async throws {
            guard let words = ChildProcess.arguments(of: "accepts") else { return }
            let store = try SQLiteStore(
                at: URL(fileURLWithPath: words[0]),
                limits: StoreLimits(maximumCount: 10_000_000, maximumBytes: 1 << 32)
            )
            let acknowledged = try LineFile(words[1])
            let round = words[2]
            await withTaskGroup { group in
                for caller in 0..<4 {
                    group.addTask {
                        var number = 0
                        while true {
                            let id = "\(round)-\(caller)-\(number)"
                            do { try await store.append([.sample(id, user: "u\(caller)")], isHeld: false) } catch {
                                return
                            }
                            acknowledged.add(id)
                            number += 1
                        }
                    }
                }
            }
        }

        @Test("ChildParts accepts a number and delivers until it is killed")
        func delivers() async throws {
            guard let words = ChildProcess.arguments(of: "delivers") else { return }
            let vendor = RecordingVendor(try LineFile(words[1]), delay: .milliseconds(Int(words[3]) ?? 0))
            let client = try await ExperimentationClient(
                provider: vendor,
                store: .sqlite(at: URL(fileURLWithPath: words[0]))
            )
            let acknowledged = try LineFile(words[2])
            for number in 0..<(Int(words[4]) ?? 0) {
                let session = client.session(for: User(id: "u\(number % 5)"))
                let id = "\(words[5])-\(number)"
                try await session.track(.custom(id))
                acknowledged.add(id)
            }
            // With nothing to add it is there to finish.
            if words[4] == "0" {
                while try await !client.flush(within: .seconds(5)) {}
            } else {
                try await Task.sleep(for: .seconds(60))
            }
        }

        @Test("ChildParts leases everything and hangs")
        func hangs() async throws {
            guard let words = ChildProcess.arguments(of: "hangs") else { return }
            let store = try SQLiteStore(at: URL(fileURLWithPath: words[0]))
            let acknowledged = try LineFile(words[1])
            for id in try await store.lease(1_000, bytes: .max, now: Date(), until: Date() + 1) {
                acknowledged.add(id.id)
            }
            acknowledged.add("done")
            try await Task.sleep(for: .seconds(60))
        }

        @Test("ChildParts accepts a number beside others")
        func shares() async throws {
            guard let words = ChildProcess.arguments(of: "shares") else { return }
            let store = try SQLiteStore(
                at: URL(fileURLWithPath: words[0]),
                limits: StoreLimits(maximumCount: 1_000_000)
            )
            let notes = try LineFile(words[1])
            do {
                for number in 0..<(Int(words[2]) ?? 0) {
                    let id = "\(words[3])-\(number)"
                    try await store.append([.sample(id, user: words[3])], isHeld: false)
                    notes.add(id)
                }
            } catch {
                notes.add("error \(error)")
            }
            await store.close()
        }

        @Test("ChildParts delivers what others accept")
        func drains() async throws {
            guard let words = ChildProcess.arguments(of: "drains") else { return }
            let store = try SQLiteStore(
                at: URL(fileURLWithPath: words[0]),
                limits: StoreLimits(maximumCount: 1_000_000)
            )
            let notes = try LineFile(words[1])
            do {
                while !FileManager.default.fileExists(atPath: words[2]) {
                    let leased = try await store.lease(100, bytes: .max, now: Date(), until: Date() + 60).map(\.id)
                    for id in leased { notes.add(id) }
                    try await store.settle(leased.map { .delivered(id: $0) })
                    if leased.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
                }
            } catch {
                notes.add("error \(error)")
            }
            await store.close()
        }
    }

    /// A vendor that writes down what it gets before it says so.
    struct RecordingVendor: ExperimentationProvider, EventSink {
        let name = "recording"
        let scope = ""
        let capabilities: Set<Capability> = [.tracking]
        let batching = BatchPolicy(count: 5, largest: 20, interval: .milliseconds(5))
        let received: LineFile
        let delay: Duration

        init(_ received: LineFile, delay: Duration) {
            self.received = received
            self.delay = delay
        }

        var roles: ProviderRoles { ProviderRoles(events: self) }
        func check(_ event: TrackingEvent) throws(ExperimentationError) {}

        func deliver(_ batch: [Envelope]) async -> DeliveryReport {
            try? await Task.sleep(for: delay)
            for envelope in batch {
                if case .custom(let name, _) = envelope.event.kind {
                    received.add("\(name)\t\(envelope.id)\t\(envelope.date.timeIntervalSince1970)")
                }
            }
            return DeliveryReport(.delivered)
        }
    }

    @Suite("A killed process loses nothing", .serialized)
    struct CrashTests {
        private let folder = TemporaryFolder()

        init() throws { try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true) }

        private func waitForLine(in path: String, _ isEnough: ([String]) -> Bool) async throws {
            let end = ContinuousClock.now + .seconds(30)
            while !isEnough(LineFile.lines(of: path)), .now < end { try await Task.sleep(for: .milliseconds(2)) }
        }

        @Test("P01 an accepted event survives a process kill")
        func acceptance() async throws {
            var dice = SplitMix(seed: 1)
            let kills = isSoak ? 200 : 6
            // Two hundred long lives would fill gigabytes, which each next one checks when it opens them.
            let longest = isSoak ? 80 : 250
            var acknowledged: [String] = []
            for round in 0..<kills {
                let notes = folder.file("acknowledged-\(round)").path
                let child = try ChildProcess("accepts", [folder.file().path, notes, "\(round)"])
                try await waitForLine(in: notes) { !$0.isEmpty }
                try await Task.sleep(for: .milliseconds(Int.random(in: 20...longest, using: &dice)))
                child.kill()
                acknowledged += LineFile.lines(of: notes)
                if round % 20 == 19 || round == kills - 1 {
                    let database = try DatabaseQueue(path: folder.file().path)
                    #expect(try await database.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
                    try database.close()
                }
            }
            let database = try DatabaseQueue(path: folder.file().path)
            let stored = try await database.read {
                try String.fetchAll($0, sql: "SELECT id FROM event ORDER BY sequence")
            }
            try database.close()
            #expect(Set(acknowledged).subtracting(stored).isEmpty)
            #expect(Set(stored).count == stored.count)
            #expect(acknowledged.count >= (isSoak ? 300_000 : 100), "\(acknowledged.count)")
            // Each caller's events lie in the order in which it made them.
            var last: [Substring: Int] = [:]
            for id in stored {
                let parts = id.split(separator: "-")
                let number = try #require(Int(parts[2]))
                #expect(number > last[id.dropLast(parts[2].count), default: -1])
                last[id.dropLast(parts[2].count)] = number
            }
            let store = try SQLiteStore(
                at: folder.file(),
                limits: StoreLimits(maximumCount: 10_000_000, maximumBytes: 1 << 32)
            )
            #expect(!store.hasSetAsideDamage)
            try await store.expectBalance(stored.count)
            print(
                "P01: \(kills) kills, \(acknowledged.count) accepted, \(Set(acknowledged).subtracting(stored).count) lost"
            )
        }

        @Test("P02 every accepted event is delivered at least once across kills, repeats with the same id and content")
        func delivery() async throws {
            var dice = SplitMix(seed: 2)
            let kills = isSoak ? 100 : 5
            let each = isSoak ? 200 : 60
            let received = folder.file("received").path
            let acknowledged = folder.file("acknowledged").path
            for round in 0..<kills {
                let before = LineFile.lines(of: acknowledged).count
                let delay = Int.random(in: 0...50, using: &dice)
                let child = try ChildProcess(
                    "delivers",
                    [folder.file().path, received, acknowledged, "\(delay)", "\(each)", "\(round)"]
                )
                try await waitForLine(in: acknowledged) { $0.count > before }
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...200, using: &dice)))
                child.kill()
            }
            let last = try ChildProcess("delivers", [folder.file().path, received, acknowledged, "0", "0", "end"])
            last.waitUntilGone()
            let accepted = LineFile.lines(of: acknowledged)
            let lines = LineFile.lines(of: received)
            let delivered = lines.map { String($0.prefix { $0 != "\t" }) }
            #expect(Set(accepted).subtracting(delivered).isEmpty)
            // A repeat is the same line: name, id and date.
            #expect(Set(lines).count == Set(delivered).count)
            #expect(lines.count - Set(lines).count <= kills * 20)
            let store = try SQLiteStore(at: folder.file())
            let ledger = try await store.ledger()
            #expect(ledger.pending == 0 && ledger.isBalanced && ledger.accepted >= accepted.count, "\(ledger)")
            print("P02: \(kills) kills, \(accepted.count) accepted, \(lines.count - Set(lines).count) repeats")
        }

        @Test("P22 what a killed process was delivering can be delivered again", arguments: [true, false])
        func leases(isAlone: Bool) async throws {
            let notes = folder.file("leased").path
            for round in 0..<(isSoak ? 50 : 2) {
                let file = folder.file("\(round).sqlite")
                let store = try SQLiteStore(at: file)
                try await store.append((0..<20).map { .sample("\(round)-\($0)") }, isHeld: false)
                if isAlone { await store.close() }
                let child = try ChildProcess("hangs", [file.path, notes])
                try await waitForLine(in: notes) { $0.last == "done" && $0.contains("\(round)-19") }
                child.kill()
                if isAlone {
                    // Nobody has the file: the leases of the dead are taken back at once.
                    let next = try SQLiteStore(at: file)
                    #expect(try await next.lease(100, bytes: .max, now: Date(), until: Date() + 9).count == 20)
                } else {
                    // Others live: nobody gets the events before the lease of one second is over, and everybody then.
                    #expect(try await store.lease(100, bytes: .max, now: Date() - 5, until: Date() + 9).isEmpty)
                    #expect(try await store.lease(100, bytes: .max, now: Date() + 1.5, until: Date() + 9).count == 20)
                    await store.close()
                }
            }
        }

        @Test("P20 several processes share a store: nothing lost, nothing twice, nobody told that it is busy")
        func sharing() async throws {
            let each = isSoak ? 5_000 : 250
            let end = folder.file("end").path
            let writers = try (0..<4).map {
                try ChildProcess("shares", [folder.file().path, folder.file("written").path, "\(each)", "w\($0)"])
            }
            let drainers = try (0..<2).map { _ in
                try ChildProcess("drains", [folder.file().path, folder.file("drained").path, end])
            }
            for writer in writers { writer.waitUntilGone() }
            let store = try SQLiteStore(at: folder.file(), limits: StoreLimits(maximumCount: 1_000_000))
            let limit = ContinuousClock.now + .seconds(60)
            while try await store.ledger().pending > 0, .now < limit { try await Task.sleep(for: .milliseconds(10)) }
            try Data().write(to: URL(fileURLWithPath: end))
            for drainer in drainers { drainer.waitUntilGone() }
            let written = LineFile.lines(of: folder.file("written").path)
            let drained = LineFile.lines(of: folder.file("drained").path)
            #expect(written.filter { $0.hasPrefix("error") }.isEmpty)
            #expect(written.count == 4 * each)
            #expect(drained.count == 4 * each && Set(drained) == Set(written))
            #expect(try await store.ledger() == Ledger(accepted: 4 * each, delivered: 4 * each))
        }
    }
#endif
