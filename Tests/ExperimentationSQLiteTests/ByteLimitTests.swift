import Experimentation
import ExperimentationSQLite
import Foundation
import Testing
import Waiting

@Suite("Limits count bytes")
struct ByteLimitTests {
    @Test("P26 in any alphabet, no event and no batch exceeds its limit", arguments: StoreKind.allCases)
    func limits(_ kind: StoreKind) async throws {
        let folder = TemporaryFolder()
        let pieces = ["a", "é", "中", "😀", "👩‍👩‍👧", "e\u{301}", "\"", "\\", "\n", "\u{1}", "\u{2028}", "א", " "]
        let limit = 2_048
        let store = try kind.open(folder, limits: StoreLimits(maximumCount: 100_000, maximumEventBytes: limit))
        var accepted = 0
        var refused = 0
        for seed in 0..<(isSoak ? 2_000 : 200) {
            var dice = SplitMix(seed: seed)
            // Around the limit, with the largest difference between characters and bytes.
            let length = Int.random(in: 0...900, using: &dice)
            let text = (0..<length).map { _ in pieces.randomElement(using: &dice) ?? "" }.joined()
            let envelope = Envelope.sample("e\(seed)", user: "ada", .custom(text))
            let size = try EnvelopeCoding.encode(envelope).count
            do throws(ExperimentationError) {
                try await store.append([envelope])
                accepted += 1
                #expect(size <= limit, "seed \(seed): \(size) bytes")
            } catch {
                refused += 1
                #expect(error.code == .tooLarge && size > limit, "seed \(seed): \(size) bytes, \(error)")
            }
        }
        #expect(accepted > 20 && refused > 20)
        var delivered = 0
        while let lease = try await store.take(100, bytes: 5_000) {
            let size = try lease.events.reduce(0) { try $0 + EnvelopeCoding.encode($1).count }
            #expect(size <= 5_000 || lease.events.count == 1)
            delivered += lease.events.count
            try await store.settle(lease)
        }
        #expect(delivered == accepted)
        try await store.expectBalance(accepted)
    }
}
