import Foundation

/// How often two vendors differ, with an upper bound that is valid whenever one looks.
///
/// The bound is the upper end of a confidence sequence: the Beta-binomial mixture's martingale stays below `1 / error` for
/// ever with probability `1 - error` (Ville), so it may be looked at after every comparison, and one may stop when one likes.
public struct MismatchRate: Sendable, Hashable {
    /// How many flags of users have been compared.
    public var compared: Int
    /// How many of them differed, confirmed.
    public var mismatched: Int

    /// Creates a rate.
    public init(compared: Int = 0, mismatched: Int = 0) {
        self.compared = max(compared, 0)
        self.mismatched = min(max(mismatched, 0), max(compared, 0))
    }

    /// The share that was seen to differ; 0 as long as nothing was compared.
    public var observed: Double { compared == 0 ? 0 : Double(mismatched) / Double(compared) }

    /// A rate that the true one isn't above, at all looks together, but for the error.
    ///
    /// - Parameter error: The probability that the bound is ever wrong; between 0 and 1.
    /// - Returns: The bound; 1 while nothing is known.
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

    /// The logarithm of the mixture's likelihood over that of one rate, with Jeffreys' prior.
    func logMartingale(at rate: Double) -> Double {
        let hits = Double(mismatched)
        let misses = Double(compared - mismatched)
        func logBeta(_ one: Double, _ two: Double) -> Double { lgamma(one) + lgamma(two) - lgamma(one + two) }
        let mixture = logBeta(0.5 + hits, 0.5 + misses) - logBeta(0.5, 0.5)
        let own = (hits == 0 ? 0 : hits * log(rate)) + (misses == 0 ? 0 : misses * log1p(-rate))
        return mixture - own
    }
}
