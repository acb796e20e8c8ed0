import Experimentation
import ExperimentationMigration
import Foundation
import Testing

@Suite("The programs about moves in the README and the guide")
struct MoveProgramTests {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test("equal what is compiled here, character by character", arguments: ["README.md", "docs/moving.md"])
    func blocks(page: String) throws {
        let source = try Self.text("Tests/ExperimentationMigrationTests/Programs/MovePrograms.swift")
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let start = try #require(lines.firstIndex(of: "    // \(page)"))
        let end = try #require(lines[start...].firstIndex(of: "    // end"))
        let program = lines[(start + 1)..<end].map { String($0.dropFirst(4)) }.joined(separator: "\n")
        #expect(program.contains("MigratingProvider"))
        #expect(try Self.text(page).contains("```swift\n\(program)\n```\n"))
    }

    @Test("run, with the expected stage at the end")
    func run() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "moving-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let moves = Moves()
        let plan = #"{"mapping":[{"old":"e0","new":"x0","variations":{"a":"A","b":"B"}}]}"#
        let planFile = folder.appending(path: "plan.json")
        try Data(plan.utf8).write(to: planFile)

        let (client, migration) = try await moveAsTheReadme(
            planFile: Array(plan.utf8),
            old: moves.old,
            new: moves.new,
            events: folder.appending(path: "readme.sqlite")
        )
        #expect(migration?.stage == .live)
        #expect(migration?.share == 0.1)
        #expect(try await Moves.color("ada", by: client) != "none")
        await client.shutdown(within: .zero)

        let (other, guided) = try await moveAsTheGuide(
            planFile: planFile,
            flagship: moves.old,
            sigma: moves.new,
            url: folder.appending(path: "guide.sqlite")
        )
        #expect(guided?.stage == .off)
        await other.shutdown(within: .zero)
    }
}
