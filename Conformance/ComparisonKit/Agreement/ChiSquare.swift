import Foundation

/// The chi-squared distribution, as far as ratio tests need it; pure.
public enum ChiSquare {
    /// The p-value of a statistic: the distribution's upper tail.
    ///
    /// Accurate to about twelve digits; below 1e-300 it is 0.
    ///
    /// - Parameters:
    ///   - statistic: The statistic; below 0 counts as 0.
    ///   - degrees: The degrees of freedom, at least 1.
    /// - Returns: A probability from 0 to 1; `nil` if the statistic is NaN or there are no degrees of freedom.
    public static func pValue(_ statistic: Double, degrees: Int) -> Double? {
        guard degrees >= 1, !statistic.isNaN else { return nil }
        if statistic <= 0 { return 1 }
        if statistic.isInfinite { return 0 }
        return upperGamma(Double(degrees) / 2, statistic / 2)
    }

    /// The regularized upper incomplete gamma function Q(a, x), for `a` above 0 and `x` from 0 up.
    ///
    /// A series below the bulk of the distribution, a continued fraction above: each converges fast where it is used
    /// (Abramowitz and Stegun 6.5.29 and 6.5.31).
    static func upperGamma(_ a: Double, _ x: Double) -> Double {
        if x <= 0 { return 1 }
        let scale = exp(a * log(x) - x - logGamma(a))
        return x < a + 1 ? max(0, 1 - scale * series(a, x)) : min(1, scale * fraction(a, x))
    }

    /// The logarithm of the gamma function above 0, by Stirling's series in the range where it is fully accurate.
    static func logGamma(_ value: Double) -> Double {
        var z = value
        var product = 1.0
        while z < 15 {
            product *= z
            z += 1
        }
        let inverse = 1 / (z * z)
        let tail = (1.0 / 12 - inverse * (1.0 / 360 - inverse * (1.0 / 1260 - inverse / 1680))) / z
        return (z - 0.5) * log(z) - z + 0.5 * log(2 * Double.pi) + tail - log(product)
    }

    private static func series(_ a: Double, _ x: Double) -> Double {
        var term = 1 / a
        var sum = term
        var n = a
        // Converges for every x below a + 1; the bound is for values of a so large that it would take too long.
        for _ in 0..<100_000 where term > sum * 1e-17 {
            n += 1
            term *= x / n
            sum += term
        }
        return sum
    }

    // Lentz's algorithm, which avoids division by zero.
    private static func fraction(_ a: Double, _ x: Double) -> Double {
        let tiny = 1e-300
        var b = x + 1 - a
        var c = 1 / tiny
        var d = 1 / (abs(b) < tiny ? tiny : b)
        var value = d
        for index in 1..<100_000 {
            let numerator = -Double(index) * (Double(index) - a)
            b += 2
            d = numerator * d + b
            if abs(d) < tiny { d = tiny }
            c = b + numerator / c
            if abs(c) < tiny { c = tiny }
            d = 1 / d
            let step = d * c
            value *= step
            if abs(step - 1) < 1e-16 { break }
        }
        return value
    }
}

/// A test of whether counts match their expected ratio.
public struct RatioTest: Sendable, Hashable, Codable {
    /// The counts.
    public var observed: [Int]
    /// The expected counts for the same total.
    public var expected: [Double]
    /// Pearson's statistic.
    public var statistic: Double
    /// The degrees of freedom.
    public var degrees: Int
    /// The p-value: the probability of a deviation at least as large by chance.
    public var p: Double

    /// The p-value below which a ratio counts as broken; the usual bound for sample-ratio tests, which are checked
    /// often.
    public static let alarm = 0.001

    /// The fewest users that must be expected in each arm.
    ///
    /// With fewer, counts are too coarse for this statistic: with 5 users expected in an arm, chance alone falls below
    /// ``alarm`` up to three times in a thousand; with 1, seven times. Others, such as GrowthBook, ask for 8 as well.
    public static let fewest = 8.0

    /// Whether the deviation is too large for chance.
    public var isSuspect: Bool { p < Self.alarm }

    /// Whether counts can't be tested only because there are too few.
    ///
    /// - Parameters:
    ///   - observed: The counts.
    ///   - weights: The expected weights, in any unit.
    /// - Returns: `false` also if there is nothing to test, however large the counts are.
    public static func isTooFew(observed: [Int], weights: [Double]) -> Bool {
        observed.count == weights.count && weights.count { $0 > 0 } > 1
            && RatioTest(observed: observed, weights: weights) == nil
    }

    /// Tests counts against weights; `nil` if there is nothing to test.
    ///
    /// That is the case if all counts are 0, if only one weight is above 0 and nothing is counted elsewhere, or if
    /// fewer than ``fewest`` are expected in an arm. A count where the weight is 0 is proof, however few there are.
    ///
    /// - Parameters:
    ///   - observed: The counts.
    ///   - weights: The expected weights, in any unit.
    public init?(observed: [Int], weights: [Double]) {
        guard observed.count == weights.count else { return nil }
        let total = Double(observed.reduce(0, +))
        let sum = weights.reduce(0, +)
        let used = weights.indices.filter { weights[$0] > 0 || observed[$0] > 0 }
        guard total > 0, sum > 0, sum.isFinite, used.count >= 2 else { return nil }
        let expected = weights.map { $0 / sum * total }
        // A user where the weight is 0 is proof, not chance.
        let isImpossible = used.contains { expected[$0] <= 0 }
        guard isImpossible || used.allSatisfy({ expected[$0] >= Self.fewest }) else { return nil }
        let statistic = used.reduce(0.0) { sum, index in
            guard expected[index] > 0 else { return sum }
            let off = Double(observed[index]) - expected[index]
            return sum + off * off / expected[index]
        }
        self.observed = observed
        self.expected = expected
        self.statistic = statistic
        degrees = used.count - 1
        p = isImpossible ? 0 : ChiSquare.pValue(statistic, degrees: used.count - 1) ?? 1
    }
}
