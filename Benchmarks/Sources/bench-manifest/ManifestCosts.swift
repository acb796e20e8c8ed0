import BenchmarkHarness
import Experimentation
import FlagManifest
import Foundation

/// Measures the time to generate the keys of a thousand flags, including reading the manifest.
@main
enum ManifestCosts {
    static func main() throws {
        let schema =
            #""schema":{"type":"object","required":["size"],"properties":{"size":{"type":"integer"},"name":{"type":"string"}}}"#
        let flags = (0..<1_000).map { number in
            number % 10 == 0
                ? #""shop.theme-\#(number)":{"flagType":"object","defaultValue":{"size":1},"description":"A theme.",\#(schema)}"#
                : #""shop.flag-\#(number)":{"flagType":"string","defaultValue":"red","description":"What it is for."}"#
        }
        let json = Array(#"{"flags":{\#(flags.joined(separator: ",\n"))}}"#.utf8)
        let written = try FlagKeySource.text(of: FlagManifest(json: json, file: "flags.json"), file: "flags.json")
        let cost = Cost.of(1) { _ in
            let manifest = try? FlagManifest(json: json, file: "flags.json")
            consume(manifest.flatMap { try? FlagKeySource.text(of: $0, file: "flags.json") })
        }
        var table = Table("Typed keys of 1,000 flags, 100 of them objects with a schema")
        table.add("manifest to Swift", cost.nanoseconds / 1e6, atMost: 200, unit: "ms")
        table.add("  written", Double(written.utf8.count) / 1_024, unit: "KB")
        if table.missedBars > 0 { print("\n\(table.missedBars) bars missed") }
    }
}
