import Foundation
import Testing
import Waiting

@Suite("Moves that are interrupted")
struct CutMovesTests {
    @Test(
        "despite kills and failing stores, variations, events, denials, stages, switches hold: 1,000 seeds under soak",
        arguments: 0..<(isSoak ? 1_000 : 40)
    )
    func play(seed: Int) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cut-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await CutMove(seed: seed, in: folder).play(steps: 60)
    }
}
