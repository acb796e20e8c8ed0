import BenchmarkHarness
import Experimentation
import FlagshipAdapter
import Foundation

/// Measures Flagship's bucketing: one visitor in one campaign, compared with the hash alone.
@main
enum FlagshipBench {
    static let visitors = (0..<1_000).map { "visitor-\(10_000 + $0)-of-the-shop" }
    static let group = "cq3k0g9s5d7f1h2j4m60"

    static let file = """
        {"campaigns":[{"id":"camp","type":"ab","slug":"kiwi","name":"Kiwi","variationGroups":[{"id":"\(group)",
        "targeting":{"targetingGroups":[{"targetings":[
        {"operator":"EQUALS","key":"city","value":"lyon"},{"operator":"GREATER_THAN","key":"age","value":30}]}]},
        "variations":[
        {"id":"a","allocation":50,"reference":true,"modifications":{"type":"FLAG","value":{"kiwi":false}}},
        {"id":"b","allocation":50,"modifications":{"type":"FLAG","value":{"kiwi":true}}}]}]}]}
        """

    static func main() async throws {
        let provider = FlagshipProvider(
            configuration: FlagshipConfiguration(
                environmentID: "bkk9glocmjcg0vtmdlng",
                apiKey: "key",
                mode: .bucketing
            )
        )
        guard case .computed(let source) = try await provider.start(in: ProviderContext()).decisions else { return }
        let ruleset = try source.ruleset(restoring: Array(file.utf8))
        let date = Date(timeIntervalSince1970: 1_795_255_200)
        let contexts = visitors.map {
            EvaluationContext(user: User(id: $0, attributes: ["city": "lyon", "age": 41]), date: date)
        }
        let chosen = Set(contexts.map { ruleset.outcome(ofFlag: 0, for: $0) })
        guard chosen == [0, 1] else { return print("the visitors don't fall into both variations: \(chosen)") }

        let keys = visitors.map { Array((group + $0).utf8) }
        let bare = Cost.of(100_000) { count in
            for index in 0..<count { consume(murmur3(keys[index % keys.count])) }
        }
        let decided = Cost.of(100_000) { count in
            for index in 0..<count { consume(ruleset.outcome(ofFlag: 0, for: contexts[index % contexts.count])) }
        }
        var table = Table("Flagship: one visitor in one campaign, two conditions")
        table.add("a bare murmur3 of the same \(keys[0].count) bytes", bare.nanoseconds, unit: "ns")
        table.add("targeting and allocation", decided.nanoseconds, unit: "ns")
        table.add("  allocations", decided.allocations, atMost: 0, unit: "")
        let ratio = decided.nanoseconds / bare.nanoseconds
        table.add("targeting and allocation / bare murmur3", ratio, atMost: 20, unit: "×")
        // The command built by `make bench`.
        guard let program = ProcessInfo.processInfo.environment["XP"] else {
            return print("  xp evaluate isn't measured: XP names no program")
        }
        try await EvaluationShare.measure(&table, program: URL(filePath: program))
    }

    /// The hash, implemented here for comparison.
    static func murmur3(_ bytes: [UInt8]) -> UInt32 {
        bytes.withUnsafeBytes { bytes in
            var hash: UInt32 = 0
            let blocks = bytes.count / 4
            func mixed(_ block: UInt32) -> UInt32 {
                var block = block &* 0xCC9E_2D51
                block = block << 15 | block >> 17
                return block &* 0x1B87_3593
            }
            for index in 0..<blocks {
                hash ^= mixed(bytes.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self))
                hash = (hash << 13 | hash >> 19) &* 5 &+ 0xE654_6B64
            }
            var tail: UInt32 = 0
            for index in (blocks * 4..<bytes.count).reversed() { tail = tail << 8 | UInt32(bytes[index]) }
            if bytes.count % 4 != 0 { hash ^= mixed(tail) }
            hash ^= UInt32(bytes.count)
            hash = (hash ^ hash >> 16) &* 0x85EB_CA6B
            hash = (hash ^ hash >> 13) &* 0xC2B2_AE35
            return hash ^ hash >> 16
        }
    }
}
