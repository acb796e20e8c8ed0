import BenchmarkHarness
import Foundation

/// Measures Engage: its XML documents, and delivering behaviors.
@main
enum Engage {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bench-engage-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var table = Table("Engage (ratios within this run)")
        // Arguments select parts.
        let parts = Set(CommandLine.arguments.dropFirst())
        if parts.isEmpty || parts.contains("xml") { try XMLCosts.measure(&table) }
        if parts.isEmpty || parts.contains("behaviours") { try await BehaviorRates.measure(&table, folder: folder) }
        if parts.contains("breakdown") { try await BehaviorRates.breakDown(&table, folder: folder) }
        try? FileManager.default.removeItem(at: folder)
        if table.missedBars > 0 {
            print("\n\(table.missedBars) bars missed")
            exit(1)
        }
    }
}
