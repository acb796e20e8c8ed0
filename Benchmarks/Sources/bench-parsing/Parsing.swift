import AdapterKit
import BenchmarkHarness
import Experimentation
import Foundation

/// Parsing five megabytes of JSON, compared with Foundation, and stored events one by one.
@main
enum Parsing {
    static func main() throws {
        var table = Table("Five megabytes of JSON, as a vendor's rules")
        let flags = (0..<10_000).map { number in
            #"{"id":"\#(number)","name":"flag-\#(number)","type":"string","weight":\#(number % 100).5,"enabled":\#(number % 2 == 0),"rules":[{"is_default":false,"value":"variant \#(number % 7) é","conditional_statement":"AND","conditions":[{"name":"custom.plan","sign":"any of","value":["pro","team",\#(number)]},{"name":"appVersion","sign":"greater equal","value":["2.10"]}]},{"is_default":true,"value":"\#(String(repeating: "x", count: 120))","conditional_statement":"-","conditions":[]}]}"#
        }
        let text = #"{"use_geo":false,"feature_flags":[\#(flags.joined(separator: ","))]}"#
        let bytes = Array(text.utf8)
        let data = Data(bytes)
        table.add("the document", Double(bytes.count) / 1e6, unit: "MB")

        let ours = Cost.of(1, rounds: 7) { _ in consume(try? JSON.parse(bytes)) }
        let check = Cost.of(1, rounds: 7) { _ in try? JSON.check(bytes) }
        let foundation = Cost.of(1, rounds: 7) { _ in consume(try? JSONSerialization.jsonObject(with: data)) }
        let decoder = Cost.of(1, rounds: 7) { _ in consume(try? JSONDecoder().decode(FlagValue.self, from: data)) }
        let value = try JSON.parse(bytes)
        let writing = Cost.of(1, rounds: 7) { _ in consume(try? JSON.encode(value)) }
        table.add("JSON.parse", ours.nanoseconds / 1e6, unit: "ms")
        table.add("JSON.check, which builds nothing", check.nanoseconds / 1e6, unit: "ms")
        table.add("JSON.encode", writing.nanoseconds / 1e6, unit: "ms")
        table.add("JSONSerialization", foundation.nanoseconds / 1e6, unit: "ms")
        table.add("JSONDecoder into the same values", decoder.nanoseconds / 1e6, unit: "ms")
        table.add("JSON.parse / JSONSerialization", ours.nanoseconds / foundation.nanoseconds, atMost: 3, unit: "")
        let asked = allocatedBytes { consume(try? JSON.parse(bytes)) }
        let theirs = allocatedBytes { consume(try? JSONSerialization.jsonObject(with: data)) }
        table.add("asked for while parsing / body", Double(asked) / Double(bytes.count), atMost: 10, unit: "")
        table.add("the same, JSONSerialization", Double(theirs) / Double(bytes.count), unit: "")

        var events = Table("An event, as it is stored")
        try Envelopes.measure(&events)
        exit(table.missedBars == 0 ? 0 : 1)
    }
}
