import Foundation
import Testing

@testable import ComparisonKit

@Suite("Chi-square")
struct ChiSquareTests {
    /// Computed with SciPy's `chi2.sf`; includes the usual table's 5 % and 0.1 % points.
    struct Known: Sendable {
        var statistic: Double
        var degrees: Int
        var p: Double
    }

    @Test(
        "p-values equal those in published tables",
        arguments: [
            Known(statistic: 3.841458820694124, degrees: 1, p: 0.05),
            Known(statistic: 10.827566170662733, degrees: 1, p: 0.001),
            Known(statistic: 5.991464547107979, degrees: 2, p: 0.05),
            Known(statistic: 2, degrees: 2, p: 0.36787944117144233),
            Known(statistic: 18.307038053275146, degrees: 10, p: 0.05),
            Known(statistic: 124.34211340400407, degrees: 100, p: 0.05),
            Known(statistic: 1, degrees: 1, p: 0.31731050786291415),
            Known(statistic: 0.5, degrees: 3, p: 0.9188914116546758),
            Known(statistic: 100, degrees: 1, p: 1.5239706048320995e-23),
            Known(statistic: 700, degrees: 2, p: 9.929590396265143e-153),
        ]
    )
    func known(value: Known) throws {
        let p = try #require(ChiSquare.pValue(value.statistic, degrees: value.degrees))
        #expect(abs(p / value.p - 1) < 1e-9, "\(p)")
    }

    @Test("extreme values are certain, and undefined ones have no p-value")
    func edges() {
        #expect(ChiSquare.pValue(0, degrees: 1) == 1)
        #expect(ChiSquare.pValue(-1, degrees: 1) == 1)
        #expect(ChiSquare.pValue(.infinity, degrees: 5) == 0)
        #expect(ChiSquare.pValue(.nan, degrees: 1) == nil)
        #expect(ChiSquare.pValue(1, degrees: 0) == nil)
        #expect(ChiSquare.pValue(1e9, degrees: 3) == 0)
    }

    @Test("the logarithm of gamma matches factorials and √π", arguments: [1, 2, 5, 11, 21, 171])
    func gamma(value: Int) {
        let factorial = (1..<max(value, 2)).reduce(0.0) { $0 + log(Double($1)) }
        #expect(abs(ChiSquare.logGamma(Double(value)) - factorial) < 1e-11 * max(1, factorial))
        #expect(abs(ChiSquare.logGamma(0.5) - 0.5 * log(Double.pi)) < 1e-13)
    }

    @Test("a fitting ratio isn't suspect, a skewed one is, and weights may have any sum")
    func ratios() throws {
        let good = try #require(RatioTest(observed: [5_030, 4_970], weights: [50, 50]))
        #expect(abs(good.statistic - 0.36) < 1e-12)
        #expect(good.degrees == 1)
        #expect(good.p > 0.5 && !good.isSuspect)
        let bad = try #require(RatioTest(observed: [5_300, 4_700], weights: [1, 1]))
        #expect(bad.statistic == 36 && bad.isSuspect)
        #expect(bad.expected == [5_000, 5_000])
    }

    @Test("too few expected users can't be tested: by chance alone, such counts are far off too often")
    func tooFew() {
        #expect(RatioTest(observed: [5, 0], weights: [50, 50]) == nil)
        #expect(RatioTest(observed: [93, 7], weights: [95, 5]) == nil)
        #expect(RatioTest(observed: [8, 8], weights: [50, 50])?.p == 1)
        #expect(RatioTest(observed: [16, 0], weights: [50, 50])?.isSuspect == true)
        #expect(RatioTest.isTooFew(observed: [93, 7], weights: [95, 5]))
        #expect(RatioTest.isTooFew(observed: [0, 0], weights: [50, 50]))
        // These are tested, or there is nothing to test at any size.
        #expect(!RatioTest.isTooFew(observed: [16, 0], weights: [50, 50]))
        #expect(!RatioTest.isTooFew(observed: [3, 1], weights: [100, 0]))
        #expect(!RatioTest.isTooFew(observed: [3, 0], weights: [100, 0]))
        #expect(!RatioTest.isTooFew(observed: [1, 2, 3], weights: [50, 50]))
        // The bound is about the arms that users can be in.
        #expect(RatioTest(observed: [8, 8, 0], weights: [50, 50, 0])?.p == 1)
        #expect(RatioTest(observed: [3, 1], weights: [100, 0])?.p == 0)
    }

    @Test("a user in an arm that may have none proves a mismatch, and an untestable ratio has no p-value")
    func corners() throws {
        #expect(RatioTest(observed: [100, 1], weights: [100, 0])?.p == 0)
        #expect(RatioTest(observed: [100, 0], weights: [100, 0]) == nil)
        #expect(RatioTest(observed: [0, 0], weights: [50, 50]) == nil)
        #expect(RatioTest(observed: [1, 2, 3], weights: [50, 50]) == nil)
        #expect(RatioTest(observed: [10, 20, 0], weights: [1, 2, 0])?.degrees == 1)
    }
}
