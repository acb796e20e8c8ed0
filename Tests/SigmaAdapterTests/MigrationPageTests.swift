import Experimentation
import Foundation
import SigmaAdapter
import SigmaSQLite
import Testing

/// Compiles the samples of the migration page, which must match it line by line.
@Suite("Sigma: the samples of the migration page")
struct MigrationPageTests {
    // Not called, because they would write into the user's own folder.

    @Test("compile")
    func compile() {
        func sample(token: String) async throws {
            // page: begin
            // After: the same calls, except for objects
            let user = SigmaUser.Builder().setUserId("123").setCustomProperty(true, key: "isAuthorized").build()
            let client = try Sigma.initializeClient(projectToken: token, initialUser: user)
            let isOn: Bool? = try await client.checkFlag(flagName: "chat")
            let limits = (try await client.getUserFeatureFlagsDetails()["limits"] as? [String: FlagValue])?.any
            // page: end
            _ = (isOn, limits)
        }
        _ = sample
    }

    /// Compiled but not run, because it would write into the user's own folder.
    func upgrade() {
        func sample(token: String) throws {
            // page: begin
            var options = try SigmaClientOptions.durable()
            if let defaults = UserDefaults(suiteName: SigmaSDKRecords.suiteName(token: token)) {
                options.importing = SigmaSDKRecords(in: defaults)
            }
            let client = try Sigma.initializeClient(projectToken: token, options: options)
            // page: end
            _ = client
        }
        _ = sample
    }

    @Test("equal the page's")
    func areThese() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/migrating-from-sigma.md"), encoding: .utf8)
        let own = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        /// Ignores layout: the formatter breaks lines that the page doesn't.
        func code(_ text: String) -> String { text.filter { !$0.isWhitespace } }
        func parts(_ text: String, from begin: String, to end: String) -> [String] {
            text.components(separatedBy: begin).dropFirst().map { code($0.components(separatedBy: end)[0]) }
        }
        let shown = parts(page, from: "```swift\n", to: "```").filter { !$0.hasPrefix("//Before") }
        let compiled = parts(own, from: "// page: " + "begin\n", to: "// page: " + "end")
        #expect(shown.count == 2 && shown == compiled)
    }
}
