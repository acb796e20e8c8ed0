import AdapterKit
import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import FlagshipAdapter
import FlagshipSQLite
import Foundation
import GRDB
import Testing

/// The samples of the page for those who move over: they compile here, and are the page's, line by line.
@Suite("Flagship: the samples of the migration page")
struct MigrationPageTests {
    private struct Analytics: Sendable {
        func track(_ name: String, properties: [String: FlagValue], user: String) {}
    }

    /// Compiled, not run, since it would write into the user's own folder: compile.
    func compile() {
        // Not called: it would leave a file where this machine's user keeps theirs. DurableTests run it in a folder.
        func sample() async {
            // page: begin
            // After, in Flagship's words
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

    /// Compiled, not run, since it would write into the user's own folder: start from code that can't wait.
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

    /// Compiled, not run, since it would write into the user's own folder: print what is logged.
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

    @Test("turn dictionaries of anything into values and back")
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
        // page: begin
        let folder = caches.appending(path: "Flagship")
        let hits = SQLiteTable("table_hits", in: folder.appending(path: "tracking_database.db"))
        let visitors = SQLiteTable("table_visitors", in: folder.appending(path: "visitor_database.db"))
        try await Flagship.importHits(
            hits.values(of: "data_hit", by: "id"),
            environmentID: environmentID,
            apiKey: apiKey,
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

    @Test("are these")
    func areThese() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/migrating-from-flagship.md"), encoding: .utf8)
        let own = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        /// Layout aside: the formatter breaks lines that the page doesn't.
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
