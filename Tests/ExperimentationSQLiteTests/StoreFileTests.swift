import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import GRDB
import Testing

@Suite("The store's files")
struct StoreFileTests {
    private let folder = TemporaryFolder()

    private func mode(_ name: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.url.appendingPathComponent(name).path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue
    }

    @Test(
        "P62 folder and files are their owner's alone, whatever the mask, also after damage",
        .serialized,
        arguments: [0, 0o022]
    )
    func modes(mask: Int) async throws {
        let before = umask(mode_t(mask))
        defer { umask(before) }
        for round in 0..<2 {
            let store = try SQLiteStore(at: folder.file())
            try await store.append([.sample("a\(round)")], isHeld: false)
            try await store.setValue([1], for: "k")
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
            #expect(files.count >= 4)
            for file in files { #expect(try mode(file) == 0o600, "\(file)") }
            #expect(try mode(".") == 0o700)
            #expect(store.hasSetAsideDamage == (round == 1))
            await store.close()
            // Damaged, and opened to the world.
            try Data(repeating: 7, count: 9_000).write(to: folder.file())
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: folder.file().path)
        }
    }

    @Test(
        "P62 folders on the way that aren't there are made for their owner alone",
        .serialized,
        arguments: [0, 0o022]
    )
    func foldersOnTheWay(mask: Int) async throws {
        let before = umask(mode_t(mask))
        defer { umask(before) }
        await (try SQLiteStore(at: folder.file("a/b/store.sqlite"))).close()
        for name in [".", "a", "a/b"] { #expect(try mode(name) == 0o700, "\(name)") }
    }

    @Test("P62 a folder that is there keeps its mode, being somebody's; the files in it are their owner's alone")
    func otherFolder() async throws {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.url.path)
        // Also one that its owner may only read: taken away from others means given to its owner.
        for ending in ["", "-lock"] {
            #expect(FileManager.default.createFile(atPath: folder.file().path + ending, contents: Data()))
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o444],
                ofItemAtPath: folder.file().path + ending
            )
        }
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("a")], isHeld: false)
        #expect(try mode(".") == 0o755)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(files.count >= 4)
        for file in files { #expect(try mode(file) == 0o600, "\(file)") }
        await store.close()
    }

    @Test("P59 links and folders in the file's place are not followed")
    func links() throws {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        let target = folder.file("target")
        try Data("precious".utf8).write(to: target)
        for ending in ["", "-wal", "-shm", "-lock"] {
            let link = folder.file("link.sqlite" + ending)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
            #expect(throws: ExperimentationError.self) { try SQLiteStore(at: folder.file("link.sqlite")) }
            try FileManager.default.removeItem(at: link)
        }
        #expect(throws: ExperimentationError.self) { try SQLiteStore(at: folder.url) }
        #expect(try Data(contentsOf: target) == Data("precious".utf8))
    }

    @Test("P24 after a withdrawal, no file of the folder holds a trace of the user: events, decisions, assignments")
    func withdrawalLeavesNothing() async throws {
        let marker = "marker-4711@example.com"
        for seed in 0..<(isSoak ? 100 : 8) {
            var dice = SplitMix(seed: seed)
            let folder = TemporaryFolder()
            let provider = MarkingProvider()
            func open() async throws -> ExperimentationClient {
                try await ExperimentationClient(
                    provider: provider,
                    store: .sqlite(in: folder.url, for: provider, limits: StoreLimits(maximumBytes: 4_000_000))
                )
            }
            var client = try await open()
            await client.setConnectivity(.offline)
            let bob = client.session(for: User(id: "bob", consent: .granted))
            var ada = client.session(
                for: User(
                    id: marker,
                    anonymousID: "device-\(marker)",
                    attributes: ["mail": .string(marker)],
                    consent: .granted
                )
            )
            for step in 0..<60 {
                try await ada.refresh(force: true)
                try await bob.refresh(force: true)
                #expect(ada.string("greeting", default: "") == "hello \(marker)")
                let text = String(repeating: marker, count: Int.random(in: 1...80, using: &dice))
                try await ada.track(.custom("bought", attributes: ["what": .string(text)]))
                try await bob.track(.custom("bought", value: Double(step)))
            }
            if seed.isMultiple(of: 2) {
                // The withdrawal may come in a later run, which knows nothing of what was written before.
                await client.shutdown(within: .zero)
                client = try await open()
                await client.setConnectivity(.offline)
                ada = client.session(for: User(id: marker, consent: .granted))
            }
            #expect(try folder.occurrences(of: marker) > 0)
            try await ada.setConsent(.denied)
            #expect(try folder.occurrences(of: marker) == 0, "seed \(seed)")
            // Others lose nothing.
            let status = try await client.outboxStatus()
            #expect(status.ready + status.leased + status.delayed == 60)
            // Beside those that were tracked, the exposure of the one read.
            let ledger = try await client.ledger()
            #expect(ledger == Ledger(accepted: 121, pending: 60, purged: 61))
            await client.shutdown(within: .zero)
            #expect(try folder.occurrences(of: marker) == 0, "seed \(seed)")
        }
    }

    @Test("P21 P59 one file for each application, vendor and account, named by a digest")
    func folderOfMany() async throws {
        let hostile = ["", "a", "../../etc/passwd", "a/b", "\u{0}", String(repeating: "é", count: 4_096), "key:secret"]
        var stores: [ClientStore] = []
        for name in ["one", "two"] {
            for scope in hostile {
                for application in ["app", "other"] {
                    let provider = InMemoryProvider(name: name, scope: scope)
                    stores.append(try await .sqlite(in: folder.url, for: provider, application: application))
                }
            }
        }
        for (index, store) in stores.enumerated() {
            try await store.outbox.append([.sample("\(index)", user: "u\(index)")], isHeld: false)
        }
        for (index, store) in stores.enumerated() { #expect(try await store.outbox.leaseAll() == ["\(index)"]) }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter {
            $0.hasSuffix(".sqlite")
        }
        #expect(names.count == stores.count)
        for name in names { #expect(name.dropLast(7).allSatisfy(\.isHexDigit) && name.count == 71, "\(name)") }
        #expect(try folder.occurrences(of: "secret") == 0)
    }

    @Test("P21 a file that belongs to one account is refused to another")
    func accounts() async throws {
        let one = InMemoryProvider(name: "v", scope: "account-1")
        await (try SQLiteStore(at: folder.file(), for: one)).close()
        await (try SQLiteStore(at: folder.file(), for: one)).close()
        let error = #expect(throws: ExperimentationError.self) {
            try SQLiteStore(at: folder.file(), for: InMemoryProvider(name: "v", scope: "account-2"))
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("account-") == false)
    }

    @Test("a database of something else is refused and left alone")
    func foreign() async throws {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        let database = try DatabaseQueue(path: folder.file().path)
        try await database.write {
            try $0.execute(sql: "CREATE TABLE recipe (name TEXT); INSERT INTO recipe VALUES ('x')")
        }
        try database.close()
        let error = #expect(throws: ExperimentationError.self) { try SQLiteStore(at: folder.file()) }
        #expect(error?.code == .configuration)
        let again = try DatabaseQueue(path: folder.file().path)
        #expect(try await again.read { try String.fetchOne($0, sql: "SELECT name FROM recipe") } == "x")
    }

    @Test("P24 a purge leaves no trace of its user in any file")
    func traces() async throws {
        let marker = "marker-4711@example.com"
        for seed in 0..<(isSoak ? 200 : 15) {
            var dice = SplitMix(seed: seed)
            let store = try SQLiteStore(at: folder.file("\(seed).sqlite"))
            for step in 0..<120 {
                let isMarked = Int.random(in: 0..<3, using: &dice) == 0
                let length = Int.random(in: 0..<(Int.random(in: 0..<8, using: &dice) == 0 ? 9_000 : 200), using: &dice)
                let name = (isMarked ? marker : "") + String(repeating: isMarked ? marker : "x", count: length / 20 + 1)
                let event = TrackingEvent.custom(name)
                let user = isMarked ? marker : "bob"
                try await store.append(
                    [.sample("\(step)-\(isMarked ? marker : "")", user: user, event)],
                    isHeld: step % 5 == 0
                )
                if isMarked { try await store.setValue(Array(name.utf8), for: "decisions/1/\(step)") }
                if step % 30 == 29 {
                    let leased = try await store.leaseAll(20)
                    try await store.settle(
                        leased.enumerated().map { index, id in
                            index % 2 == 0
                                ? .delivered(id: id) : .retry(id: id, at: noon, attempts: 1, reason: "HTTP 400")
                        }
                    )
                }
            }
            #expect(try folder.occurrences(of: marker) > 0)
            _ = try await store.purge(userID: marker)
            try await store.removeAll(beginningWith: "decisions/1")
            #expect(try folder.occurrences(of: marker) == 0, "seed \(seed)")
            #expect(try await store.status(now: noon).ready > 0)
            try await store.expectBalance(120)
            await store.close()
            #expect(try folder.occurrences(of: marker) == 0, "seed \(seed)")
        }
    }

    @Test("P24 what was set aside as damaged goes with the purge")
    func tracesInDamage() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("a", user: "marker")], isHeld: false)
        await store.close()
        var data = try Data(contentsOf: folder.file())
        data.replaceSubrange(0..<40, with: Data(repeating: 0, count: 40))
        try data.write(to: folder.file())
        let next = try SQLiteStore(at: folder.file())
        #expect(next.hasSetAsideDamage)
        #expect(try folder.occurrences(of: "marker") > 0)
        _ = try await next.purge(userID: "marker")
        #expect(try folder.occurrences(of: "marker") == 0)
    }

    @Test("P60 hostile texts are stored as they are")
    func hostileTexts() async throws {
        let store = try SQLiteStore(at: folder.file(), limits: StoreLimits(maximumCount: 2_000))
        let seeds = [
            "'", "\"", ";--", "'); DROP TABLE event; --", "%", "_", "\u{0}", "\u{1F600}", "e\u{301}", "é", "\u{202E}",
            "?", ":a",
        ]
        var dice = SplitMix(seed: 60)
        for number in 0..<500 {
            let text = (0..<Int.random(in: 1...6, using: &dice)).map { _ in seeds.randomElement(using: &dice) ?? "" }
                .joined()
            let id = "\(number)" + text
            try await store.append([.sample(id, user: text, .custom(text))], isHeld: false)
            try await store.setValue(Array(text.utf8), for: id)
            let leased = try await store.lease(1, bytes: .max, now: noon, until: noon + 60)
            let first = try #require(leased.first)
            #expect(Array(first.identity.id.utf8) == Array(text.utf8))
            #expect(first.event == .custom(text))
            #expect(try await store.value(for: id) == Array(text.utf8))
            try await store.settle([.delivered(id: id)])
        }
        try await store.expectBalance(500)
    }

    @Test("P60 no statement is put together from values")
    func noInterpolation() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/ExperimentationSQLite")
        var found: [String] = []
        for file in try FileManager.default.contentsOfDirectory(atPath: sources.path) {
            let text = try String(contentsOf: sources.appendingPathComponent(file), encoding: .utf8)
            #expect(!text.contains("publicStatementArguments"))
            found += Self.composed(text).map { "\(file): \($0)" }
        }
        // The one exception: a pragma's value can't be bound. Its name is a static string, its value a number.
        #expect(found.count == 1 && found[0].contains("PRAGMA \\(name) = \\(value)"), "\(found)")
    }

    /// The texts of a source that hold both a statement's words and a value, or a statement that goes on with `+`.
    private static func composed(_ source: String) -> [String] {
        // A text over several lines, whole; or one within a line. Either with what follows it.
        let texts = #/"{3}[\s\S]*?"{3}\s*\+?|"(?:\\\((?:[^()]|\([^()]*\))*\)|\\[^(]|[^"\\\n])*"\s*\+?/#
        let words =
            #/\b(?:SELECT|INSERT|UPDATE|DELETE|PRAGMA|WHERE|FROM|VALUES|SET|ORDER BY|LIMIT|CREATE|DROP|ALTER)\b/#
        return source.matches(of: texts).map { String($0.output) }.filter { text in
            text.contains(words) && (text.contains("\\(") || text.hasSuffix("+"))
        }
    }

    @Test(
        "P60 a statement that is put together would be found, on whichever of its lines",
        arguments: [
            (#"sql: "SELECT a FROM b WHERE c = \(value)""#, 1),
            (#"sql: "SELECT a FROM b WHERE c = '\(names["x"] ?? "")'""#, 1),
            ("sql: \"\"\"\n  SELECT a FROM b\n  WHERE c = ?\n  LIMIT \\(count)\n  \"\"\"", 1),
            ("sql: \"\"\"\n  SELECT a\n  FROM b\n  \"\"\" + tail", 1),
            (#"sql: "DELETE FROM b WHERE c = " + value"#, 1),
            (#"sql: "SELECT a FROM b WHERE c = ?", arguments: [value]"#, 0),
            ("sql: \"\"\"\n  SELECT a FROM b\n  WHERE c = ?\n  \"\"\"", 0),
            (#""\(path) is damaged." "SELECT a FROM b""#, 0),
        ]
    )
    func lintBites(source: String, count: Int) {
        #expect(Self.composed(source).count == count)
    }

    @Test("both durabilities are what the database says they are", arguments: zip(Durability.allCases, [1, 2]))
    func durability(_ durability: Durability, _ expected: Int) async throws {
        // The store reads the setting back itself and refuses to open when it isn't so; here it opens and works.
        let store = try SQLiteStore(at: folder.file(), durability: durability)
        try await withThrowingTaskGroup { group in
            for caller in 0..<16 {
                group.addTask { try await store.append([.sample("\(caller)")], isHeld: false) }
            }
            try await group.waitForAll()
        }
        try await store.expectBalance(16)
        await store.close()
        let error = await #expect(throws: ExperimentationError.self) {
            try await store.append([.sample("x")], isHeld: false)
        }
        #expect(error?.code == .store)
    }

    @Test("P27 every schema that was released is opened, with its events", arguments: ["schema-1", "schema-2"])
    func schemas(_ name: String) async throws {
        let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Fixtures/\(name).sql")
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        let database = try DatabaseQueue(path: folder.file().path)
        let sql = try String(contentsOf: fixture, encoding: .utf8)
        try await database.writeWithoutTransaction { try $0.execute(sql: sql) }
        try database.close()
        let store = try SQLiteStore(at: folder.file())
        let before = try await store.ledger()
        #expect(before == Ledger(accepted: 9, delivered: 3, pending: 4, purged: 1, dropped: [.rejected: 1]))
        let leased = try await store.lease(10, bytes: .max, now: noon, until: noon + 60)
        #expect(leased.map(\.id) == ["e-5", "e-6", "e-8"])
        #expect(leased.map(\.attempts) == [1, 0, 0])
        #expect(leased.first?.event == .custom("spun-wheel", value: 3, attributes: ["colour": "red"]))
        try await store.release(userID: "zoë")
        #expect(try await store.leaseAll() == ["e-9"])
        #expect(try await store.value(for: "ruleset") == [1, 2, 3])
        try await store.settle(["e-5", "e-6", "e-8", "e-9"].map { .delivered(id: $0) })
        #expect(try await store.ledger() == Ledger(accepted: 9, delivered: 7, purged: 1, dropped: [.rejected: 1]))
    }

    @Test("P27 several that bring a file up to date at once, beside one that has it open, are all let in")
    func upgradedAtOnce() async throws {
        let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Fixtures/schema-1.sql")
        let sql = try String(contentsOf: fixture, encoding: .utf8)
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        for round in 0..<(isSoak ? 300 : 20) {
            let url = folder.file("at-once-\(round)")
            let old = try DatabaseQueue(path: url.path)
            try await old.writeWithoutTransaction { database in
                _ = try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL")
                try database.execute(sql: sql)
            }
            // Whoever has the older version open holds the lock together with others.
            let lock = open(url.path + "-lock", O_RDWR | O_CREAT, 0o600)
            flock(lock, LOCK_SH)
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { try #expect(!SQLiteStore(at: url).hasSetAsideDamage) }
                }
                try await group.waitForAll()
            }
            close(lock)
            try old.close()
        }
    }

    @Test("P27 a file of a later version is left as it is")
    func laterSchema() async throws {
        await (try SQLiteStore(at: folder.file())).close()
        let database = try DatabaseQueue(path: folder.file().path)
        try await database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 99") }
        try database.close()
        let before = try Data(contentsOf: folder.file())
        let error = #expect(throws: ExperimentationError.self) { try SQLiteStore(at: folder.file()) }
        #expect(error?.code == .store)
        #expect(error?.message.contains("schema 99") == true)
        #expect(try Data(contentsOf: folder.file()) == before)
    }
}

/// A vendor whose decisions tell who they are for.
private struct MarkingProvider: ExperimentationProvider, DecisionSource, EventSink {
    let name = "marking"
    let scope = ""
    let capabilities: Set<Capability> = [.tracking]
    let freshness = Freshness()
    var batching: BatchPolicy { BatchPolicy(count: 1_000, interval: .seconds(3_600)) }
    var roles: ProviderRoles { ProviderRoles(decisions: .asked(self), events: self) }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let mail = context.user.identity.id
        let assignment = Assignment(
            experiment: Experiment(id: "greeting of \(mail)", name: "greeting"),
            variation: Variation(id: "v-\(mail)", name: "warm")
        )
        let resolution = Resolution(.string("hello \(mail)"), reason: .targetingMatch, assignment: 0)
        return .decided(Decisions(flags: [("greeting", resolution)], assignments: [assignment]))
    }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        if case .consentChanged = event.kind { throw ExperimentationError(.unsupported, "no consent signals") }
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport { DeliveryReport(.outage()) }
}
