import BenchmarkHarness
import Foundation

/// Measures Evergage: from an action to the campaign's handler, and the memory that contexts leave behind.
@main
enum Contexts {
    @MainActor
    static func main() async throws {
        var table = Table("Evergage (figures within this run)")
        // Arguments select parts.
        let parts = Set(CommandLine.arguments.dropFirst())
        if parts.isEmpty || parts.contains("memory") { await Remains.measure(&table) }
        if parts.isEmpty || parts.contains("overhead") { try await Overhead.measure(&table) }
        if table.missedBars > 0 {
            print("\n\(table.missedBars) bars missed")
            exit(1)
        }
    }
}
