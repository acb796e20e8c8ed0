import ChildProcesses
import Foundation
import Testing

/// The code of the reference's articles and tutorial, compiled unchanged.
@Suite("Code in the reference", .timeLimit(.minutes(10)))
struct DocumentationTests {
    private static let catalogue = Tool.root.appending(path: "docs/reference.docc")

    private static func files(_ folder: String, _ ending: String) -> [String] {
        let found = try? FileManager.default.contentsOfDirectory(atPath: catalogue.appending(path: folder).path)
        return (found ?? []).filter { $0.hasSuffix(ending) }.sorted()
    }

    @Test("every Swift block of an article compiles", arguments: files("Articles", ".md"))
    func article(name: String) async throws {
        let text = try String(contentsOf: Self.catalogue.appending(path: "Articles/\(name)"), encoding: .utf8)
        let blocks = text.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        #expect(!blocks.isEmpty)
        for block in blocks { #expect(try await Sample.complaints(of: block) == "") }
    }

    @Test("every step of the tutorial compiles", arguments: files("Resources", ".swift"))
    func step(name: String) async throws {
        let text = try String(contentsOf: Self.catalogue.appending(path: "Resources/\(name)"), encoding: .utf8)
        #expect(try await Sample.complaints(of: text) == "")
    }

    @Test("the tutorial shows the file of each step, and no other")
    func steps() throws {
        let tutorials = Self.files("Tutorials", ".tutorial").compactMap {
            try? String(contentsOf: Self.catalogue.appending(path: "Tutorials/\($0)"), encoding: .utf8)
        }
        let shown = tutorials.flatMap { $0.components(separatedBy: "file: \"").dropFirst() }
            .map { String($0.prefix { $0 != "\"" }) }
        #expect(shown.count >= 4)
        #expect(shown.sorted() == Self.files("Resources", ".swift"))
    }
}

/// The compiler, with the library built next to the tests.
enum Sample {
    /// Returns the compiler's errors for a source; empty if it compiles.
    static func complaints(of source: String) async throws -> String {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try Tool.file(source, "Shown.swift", in: folder)
        let map = Tool.root.appending(path: "Sources/CCurl/module.modulemap").path
        let grdb = Tool.checkouts.appending(path: "GRDB.swift/Sources/GRDBSQLite/module.modulemap").path
        let modules = Tool.executable.deletingLastPathComponent().appending(path: "Modules").path
        let process = try ChildProcess(
            URL(filePath: "/usr/bin/env"),
            ["swiftc", "-typecheck", "-parse-as-library", "-swift-version", "6", "-I", modules]
                + ["-Xcc", "-fmodule-map-file=\(map)", "-Xcc", "-fmodule-map-file=\(grdb)", file]
        )
        let status = await process.status()
        await process.errors.untilEnd()
        return status == 0 ? "" : process.errors.text + "\nstatus \(status)"
    }
}
