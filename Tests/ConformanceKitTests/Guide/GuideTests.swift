import ConformanceKit
import Experimentation
import Foundation
import Testing

@Suite("The guide to adding an adapter")
struct GuideTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

    /// The Swift blocks of the guide.
    private static func blocks() throws -> [String] {
        let guide = folder.appending(path: "../../../docs/adding-an-adapter.md").standardizedFileURL
        let text = try String(contentsOf: guide, encoding: .utf8)
        return text.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }
    }

    @Test("says for each capability how many cases require it, and which one shows it")
    func declarations() throws {
        let guide = Self.folder.appending(path: "../../../docs/adding-an-adapter.md").standardizedFileURL
        let text = try String(contentsOf: guide, encoding: .utf8)
        let rows = Capability.all.map { capability in
            let count = ConformanceCase.all.count { $0.requires.contains(capability) }
            let first = ConformanceCase.all.first { $0.probes == capability }?.name ?? "–"
            return "| `\(capability)` | \(count) | `\(first)` |"
        }
        let head = "| Declared | Cases that ask for it | The one that shows it |\n|---|---|---|\n"
        let table = try #require(text.components(separatedBy: head).dropFirst().first)
        let listed = table.components(separatedBy: "\n\n").first?.split(separator: "\n").map(String.init)
        #expect(listed == rows)
        let undemanding = ConformanceCase.all.count { $0.requires.isEmpty }
        #expect(text.contains("\(undemanding) cases ask for nothing and run for every adapter"))
    }

    @Test("names every fault that a stage plays", arguments: WorldFault.Kind.names)
    func faults(_ name: String) throws {
        let guide = Self.folder.appending(path: "../../../docs/adding-an-adapter.md").standardizedFileURL
        #expect(try String(contentsOf: guide, encoding: .utf8).contains("\n| `\(name)` | "))
    }

    @Test("shows the code that is compiled and run here, character by character")
    func blocksAreCompiled() throws {
        // The guide's manifest belongs to a package of its own; here it only has to equal the shipped one.
        let manifest = "../../../docs/examples/lantern/Package.swift"
        let sources = try ["LanternProvider.swift", "LanternSubject.swift", manifest].map {
            try String(contentsOf: Self.folder.appending(path: $0).standardizedFileURL, encoding: .utf8)
        }
        let blocks = try Self.blocks()
        #expect(blocks.count >= 3)
        for block in blocks {
            #expect(sources.contains { $0.contains(block) }, "not in the compiled example:\n\(block)")
        }
    }
}
