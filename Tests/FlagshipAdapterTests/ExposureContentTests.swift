import AdapterKit
import Experimentation
import Foundation
import MockVendors
import Testing

@testable import FlagshipAdapter

@Suite("Flagship: what an exposure says")
struct ExposureContentTests {
    @Test("a default that no event can carry is left out, and costs neither the exposure nor the application's notice")
    func unwritableDefault() async throws {
        var deep: FlagValue = 1
        for _ in 0..<200 { deep = [deep] }
        let reads: [(key: String, value: FlagValue, read: (FlagshipFlag) -> FlagValue)] = [
            ("ratio", 0.5, { .double($0.value(default: .infinity)) }),
            ("ratio", 0.5, { .double($0.value(default: .nan)) }),
            ("theme", ["dark": false], { .object($0.value(default: ["deep": deep])) }),
        ]
        for (key, value, read) in reads {
            let bench = try await Bench()
            let heard = Heard<FlagshipExposedFlag>()
            let (flagship, visitor) = await FlagTests.fetched(bench) { $0.onVisitorExposed = { heard.add($1) } }
            #expect(read(visitor.flag(key)) == value)
            #expect(visitor.flag("whole").value(default: Double.infinity) == 3)
            #expect(try await FlagTests.activations(bench, flagship) == ["var-plain"])
            let whole = FlagshipExposedFlag(
                key: "whole",
                value: visitor.flag("whole").rawValue,
                defaultValue: nil,
                metadata: visitor.flag("whole").metadata()
            )
            let first = FlagshipExposedFlag(key: key, value: value, defaultValue: nil, metadata: whole.metadata)
            #expect(heard.values == [first, whole])
        }
    }

    @Test("an exposure reported by itself has the default of the flag's last read")
    func lastDefault() async throws {
        let bench = try await Bench()
        let heard = Heard<FlagshipExposedFlag>()
        let (flagship, visitor) = await FlagTests.fetched(bench) { $0.onVisitorExposed = { heard.add($1) } }
        for word in ["first", "last"] { _ = visitor.flag("cta").value(default: word, visitorExposed: false) }
        _ = visitor.flag("size").value(default: "of another type", visitorExposed: false)
        _ = visitor.flag("on").value(default: true, visitorExposed: false)
        _ = visitor.flag("on").value(as: Bool.self, visitorExposed: false)
        for key in ["cta", "size", "on", "ratio"] { visitor.flag(key).visitorExposed() }
        #expect(try await FlagTests.activations(bench, flagship) == ["var-b", "var-plain"])
        let told = Dictionary(uniqueKeysWithValues: heard.values.map { ($0.key, $0.defaultValue) })
        #expect(told == ["cta": "last", "size": "of another type", "on": .none, "ratio": .none])
    }
}
