import Foundation

/// How often two vendors differ, with an upper bound that is valid at any time.
///
/// The bound is the upper end of a confidence sequence: by Ville's inequality, the martingale of the beta-binomial
/// mixture stays below `1 / error` forever with probability `1 - error`. It may be checked after every comparison.
public struct MismatchRate: Sendable, Hashable {
    /// The number of comparisons, one for each flag and user.
    public var compared: Int
    /// The number of confirmed mismatches among them.
    public var mismatched: Int

    /// Creates a rate.
    public init(compared: Int = 0, mismatched: Int = 0) {
        self.compared = max(compared, 0)
        self.mismatched = min(max(mismatched, 0), max(compared, 0))
    }

    /// The observed share of mismatches; 0 without comparisons.
    public var observed: Double { compared == 0 ? 0 : Double(mismatched) / Double(compared) }

    /// Returns an upper bound of the true rate, valid simultaneously at all times.
    ///
    /// - Parameter error: The probability that the bound is ever wrong; between 0 and 1.
    /// - Returns: The bound; 1 without comparisons.
    public func upperBound(error: Double = 0.01) -> Double {
        guard compared > 0, mismatched < compared, error > 0, error < 1 else { return 1 }
        let limit = -log(error)
        var low = observed
        var high = 1.0
        for _ in 0..<200 where high - low > 1e-15 {
            let middle = (low + high) / 2
            if logMartingale(at: middle) < limit { low = middle } else { high = middle }
        }
        return high
    }

    /// The log likelihood ratio of the mixture, with Jeffreys' prior, to a single rate.
    func logMartingale(at rate: Double) -> Double {
        let hits = Double(mismatched)
        let misses = Double(compared - mismatched)
        func logBeta(_ one: Double, _ two: Double) -> Double { lgamma(one) + lgamma(two) - lgamma(one + two) }
        let mixture = logBeta(0.5 + hits, 0.5 + misses) - logBeta(0.5, 0.5)
        let own = (hits == 0 ? 0 : hits * log(rate)) + (misses == 0 ? 0 : misses * log1p(-rate))
        return mixture - own
    }
}
