import AdapterKit
import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import FlagshipAdapter
import FlagshipSQLite
import Foundation
import GRDB
import Testing

/// Compiles the samples of the migration page, which must match it line by line.
@Suite("Flagship: the samples of the migration page")
struct MigrationPageTests {
    private struct Analytics: Sendable {
        func track(_ name: String, properties: [String: FlagValue], user: String) {}
    }

    /// Compiled but not run, because it would write into the user's own folder.
    func compile() {
        // DurableTests run it in a folder of their own.
        func sample() async {
            // page: begin
            // After, with Flagship's API
            let flagship = await Flagship.start(
                environmentID: "id",
                apiKey: "key",
                options: FlagshipOptions(timeout: .seconds(5))
            )
            let visitor = await flagship.newVisitor("u-1", hasConsented: true).context(["isVip": true]).build()
            await visitor.fetchFlags()
            let color = visitor.flag("btnColor").value(default: "red")
            // page: end
            _ = color
        }
        _ = sample
    }

    /// Compiled but not run, because it would write into the user's own folder.
    func launch() {
        // page: begin
        @MainActor
        final class Launch {
            static let flagship = Task { await Flagship.start(environmentID: "id", apiKey: "key") }

            /// What `application(_:didFinishLaunchingWithOptions:)` calls: it begins without waiting.
            func begin() { _ = Self.flagship }

            /// What a screen calls, for example in `task`: it waits until Flagship is there.
            func color() async -> String {
                let visitor = await Self.flagship.value.newVisitor("u-1", hasConsented: true).build()
                await visitor.fetchFlags()
                return visitor.flag("btnColor").value(default: "red")
            }
        }
        // page: end
        _ = Launch.self
    }

    /// Compiled but not run, because it would write into the user's own folder.
    func logging() {
        func sample() async {
            // page: begin
            let flagship = await Flagship.start(
                environmentID: "id",
                apiKey: "key",
                environment: ClientEnvironment(log: .printing(.trace))
            )
            // page: end
            _ = flagship
        }
        _ = sample
    }

    @Test("convert untyped dictionaries to values and back")
    func dictionaries() throws {
        let context: [String: Any] = ["isVip": true, "age": 41, "city": "lyon"]
        // page: begin
        let values = try Attributes(any: context).values
        let theme: FlagValue = ["dark": false, "margins": [1, 2.5]]
        let dictionary = theme.any as? [String: Any]
        // page: end
        #expect(values == ["isVip": true, "age": 41, "city": "lyon"])
        #expect(dictionary?["dark"] as? Bool == false)
    }

    private func upgrade(
        from caches: URL,
        into store: ClientStore,
        now: Date,
        start: (ClientStore) async throws -> Flagship
    ) async throws -> Flagship {
        let (environmentID, apiKey) = (Bench.environmentID, Secret(Bench.apiKey))
        let options = FlagshipOptions(mode: .bucketing)
        // page: begin
        let folder = caches.appending(path: "Flagship")
        let hits = SQLiteTable("table_hits", in: folder.appending(path: "tracking_database.db"))
        let visitors = SQLiteTable("table_visitors", in: folder.appending(path: "visitor_database.db"))
        try await Flagship.importHits(
            hits.values(of: "data_hit", by: "id"),
            environmentID: environmentID,
            apiKey: apiKey,
            options: options,
            into: store,
            now: now
        )
        let flagship = try await start(store)
        for record in try visitors.values(of: "data_visitor", by: "id").values {
            try await flagship.importVisitor(record)
        }
        try? FileManager.default.removeItem(at: folder)
        // page: end
        return flagship
    }

    private func table(_ name: String, _ column: String, in file: URL, _ rows: [String: Data]) throws {
        let queue = try DatabaseQueue(path: file.path)
        try queue.write { database in
            try database.execute(sql: "CREATE TABLE \(name)(id TEXT PRIMARY KEY, \(column) TEXT)")
            for (id, data) in rows {
                try database.execute(
                    sql: "INSERT INTO \(name) VALUES (?, ?)",
                    arguments: [id, String(decoding: data, as: UTF8.self)]
                )
            }
        }
        try queue.close()
    }

    @Test("take over the original's files: hits go out once, and its visitors keep their variations")
    func upgradeRuns() async throws {
        let caches = FileManager.default.temporaryDirectory.appending(path: "flagship-\(UUID().uuidString)")
        let folder = caches.appending(path: "Flagship")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: caches) }
        let hits = try #require(
            try JSON.parse(Data(contentsOf: CacheTests.fixture("cached-hits.json"))).objectValue
        ).mapValues { Data(try JSON.encode($0)) }
        let visitor = try Data(contentsOf: CacheTests.fixture("cached-visitor.json"))
        try table("table_hits", "data_hit", in: folder.appending(path: "tracking_database.db"), hits)
        try table(
            "table_visitors",
            "data_visitor",
            in: folder.appending(path: "visitor_database.db"),
            ["amber-17": visitor]
        )
        let sample = BucketingSample(
            groups: [("grp-kiwi-1", BucketingSample.everybody, [("var-kiwi-a", "0"), ("var-kiwi-b", "100")])]
        )
        let bench = try await Bench(sample.json)
        bench.time.setNow(Date(timeIntervalSince1970: 1_900_000_010))
        for start in 0..<2 {
            let flagship = try await upgrade(from: caches, into: bench.store, now: bench.time.now) {
                await bench.flagship(.bucketing, store: $0)
            }
            let amber = await flagship.newVisitor("amber-17", hasConsented: true).build()
            await amber.fetchFlags()
            #expect(amber.flag("flag").value(default: "none", visitorExposed: false) == "var-kiwi-a")
            try await flagship.client?.flush()
            #expect(await bench.hits.count { $0["t"] == "TRANSACTION" } == 1, "after start \(start)")
            #expect(!FileManager.default.fileExists(atPath: folder.path))
            await flagship.close(within: .zero)
        }
    }

    @Test("forward exposures")
    func forward() {
        let analytics = Analytics()
        // page: begin
        let options = FlagshipOptions(onVisitorExposed: { visitor, flag in
            analytics.track("flag seen", properties: flag.toDictionary(), user: visitor.id)
        })
        // page: end
        #expect(options.onVisitorExposed != nil)
    }

    @Test("equal the page's")
    func areThese() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/migrating-from-flagship.md"), encoding: .utf8)
        let own = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        /// Ignores layout: the formatter breaks lines that the page doesn't.
        func code(_ text: String) -> String { text.filter { !$0.isWhitespace } }
        func parts(_ text: String, from begin: String, to end: String) -> [String] {
            text.components(separatedBy: begin).dropFirst().map { code($0.components(separatedBy: end)[0]) }
        }
        let shown = parts(page, from: "```swift\n", to: "```").filter { !$0.hasPrefix("//Before") }
        let compiled = parts(own, from: "// page: " + "begin\n", to: "// page: " + "end")
        #expect(shown.count == 6)
        for part in shown { #expect(compiled.contains(part)) }
        #expect(compiled.count == shown.count)
    }
}
