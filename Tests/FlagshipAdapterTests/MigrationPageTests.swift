import AdapterKit
import Experimentation
import FlagshipAdapter
import Foundation
import Testing

/// The samples of the page for those who move over: they compile here, and are the page's, line by line.
@Suite("Flagship: the samples of the migration page")
struct MigrationPageTests {
    private struct Analytics: Sendable {
        func track(_ name: String, properties: [String: FlagValue], user: String) {}
    }

    @Test("compile, and read as their defaults without a vendor")
    func compile() async {
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
        #expect(color == "red" && flagship.status == .notInitialized)
    }

    @Test("take over what the original left")
    func upgrade() async throws {
        let store = ClientStore.inMemory()
        let rowsOfHits: [String: Data] = [:]
        let rowOfVisitor = Data(#"{"version":1,"data":{"visitorId":"ada"}}"#.utf8)
        // page: begin
        try await Flagship.importHits(rowsOfHits, environmentID: "id", apiKey: "key", into: store, now: Date())
        let flagship = await Flagship.start(environmentID: "id", apiKey: "key", store: store)
        try await flagship.importVisitor(rowOfVisitor)
        // page: end
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
        #expect(shown.count == 3 && shown == compiled)
    }
}
