import EvergageAdapter
import EvergageSQLite
import Experimentation
import Foundation
import Testing

/// Compiles the samples of the migration page.
@Suite("Evergage: the samples of the migration page")
@MainActor
struct MigrationPageTests {
    private func launch() {
        // page: begin
        let evergage = Evergage()
        Evergage.shared = evergage
        evergage.userID = "u-77"
        evergage.start(try EvergageConfiguration(account: "acme.us-1", dataset: "engage"))
        // page: end
    }

    private func duties(_ evergage: Evergage) {
        // page: begin
        evergage.setApplicationState(.background)
        evergage.touched()
        // page: end
    }

    @Test("are the page's, line by line")
    func areThese() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/migrating-from-evergage.md"), encoding: .utf8)
        let own = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        /// Ignores layout: the formatter breaks lines that the page doesn't.
        func code(_ text: some StringProtocol) -> String { String(text.filter { !$0.isWhitespace }) }
        let samples = own.matches(of: /\/\/ page: begin\n((?s).*?)\/\/ page: end/).map { String($0.output.1) }
        #expect(samples.count == 2)
        #expect(samples.filter { !code(page).contains(code($0)) } == [])
    }
}
