import ExperimentationMigration
import Foundation
import Testing
import Waiting

@Suite("Sample ratio")
struct RatioTests {
    struct Series: Decodable {
        let expected: [Double]
        let counts: [[Int]]
        let p: [Double]
    }

    static func oracle() throws -> [Series] {
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/sample-ratio.json")
        return try JSONDecoder().decode([Series].self, from: Data(contentsOf: url))
    }

    @Test("p-values are those of ssrm-test 0.1.5, to 1e-9")
    func equalsOracle() throws {
        for series in try Self.oracle() {
            var test = try #require(SampleRatioTest(weights: series.expected))
            for (counts, p) in zip(series.counts, series.p) {
                test.add(counts)
                #expect(abs(test.pValue - p) < 1e-9)
            }
        }
    }

    @Test(
        "counting users one by one equals a look after each of them, with a p-value no higher than after one look at all"
    )
    func oneByOne() throws {
        var one = try #require(SampleRatioTest(weights: [2, 3, 0, 5]))
        var all = one
        var each = one
        for index in 0..<1_000 {
            let arm = [0, 1, 1, 3, 3][index % 5]
            one.count(arm: arm)
            each.add((0..<4).map { $0 == arm ? 1 : 0 })
            #expect(abs(one.pValue - each.pValue) < 1e-9)
        }
        all.add([200, 400, 0, 400])
        #expect(one.counts == all.counts)
        #expect(one.counts == [200, 400, 400])
        // With a thousand looks, the smallest p-value counts.
        #expect(one.pValue < all.pValue)
    }

    @Test(
        "weights without two positive arms allow no test",
        arguments: [[], [1], [1, 0], [.nan, 1], [-1, 2], [.infinity, 1]]
    )
    func badWeights(weights: [Double]) { #expect(SampleRatioTest(weights: weights) == nil) }

    @Test("a user in an arm with weight zero is an alarm at once")
    func forbiddenArm() throws {
        var test = try #require(SampleRatioTest(weights: [1, 1, 0]))
        test.count(arm: 2)
        #expect(test.isAlarming())
    }

    /// A generator with the same numbers in every run.
    struct Seeded: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    @Test(
        "checked after every user, a correct split raises an alarm in at most one of 1,000 runs, and 52/48 is found within 30,000 users in 99 %: 100 runs outside soak"
    )
    func alarms() async throws {
        let runs = isSoak ? 1_000 : 100
        var falseAlarms = 0
        var found = 0
        for seed in 0..<runs {
            let alarms = try await besideThePool {
                var generator = Seeded(state: UInt64(seed) &* 7_919)
                var right = try #require(SampleRatioTest(weights: [1, 1]))
                var wrong = right
                for _ in 0..<30_000 {
                    let number = generator.next()
                    right.count(arm: Int(number & 1))
                    wrong.count(arm: Double(number >> 11) * 0x1p-53 < 0.52 ? 0 : 1)
                }
                return (right: right.isAlarming(), wrong: wrong.isAlarming())
            }
            if alarms.right { falseAlarms += 1 }
            if alarms.wrong { found += 1 }
        }
        #expect(falseAlarms <= runs / 1_000)
        #expect(found * 100 >= runs * 99, "\(found) of \(runs)")
    }

    @Test("the bound of a mismatch rate covers the true rate at every look")
    func bound() {
        var misses = 0
        for seed in 0..<200 {
            var generator = Seeded(state: UInt64(seed) &+ 1)
            var rate = MismatchRate()
            var isCovered = true
            for step in 1...2_000 {
                rate.compared += 1
                if Double(generator.next() >> 11) * 0x1p-53 < 0.01 { rate.mismatched += 1 }
                if step % 50 == 0, rate.upperBound(error: 0.05) < 0.01 { isCovered = false }
            }
            if !isCovered { misses += 1 }
        }
        #expect(misses <= 10)
    }

    @Test("without a mismatch the bound falls with the number of comparisons")
    func boundFalls() {
        #expect(MismatchRate().upperBound() == 1)
        #expect(MismatchRate(compared: 1_000_000).upperBound() < 0.000_02)
        #expect(MismatchRate(compared: 100, mismatched: 100).upperBound() == 1)
        #expect(MismatchRate(compared: 10_000, mismatched: 1).upperBound() > 0.000_1)
    }
}
