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

    @Test("shows code that is compiled and run here, to the letter")
    func blocksAreCompiled() throws {
        // The manifest is a package's own, so it is tried out apart; here it only has to be the one that is shipped.
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
