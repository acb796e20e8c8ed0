import Foundation

/// Tests whether users fall into arms as they should, and may be looked at after every one of them.
///
/// The sequential test of Lindon and Malek, as Optimizely's `ssrm-test` has it: a Dirichlet mixture around the expected shares
/// against the shares themselves. The p-value only ever falls, and is below a level at any time with at most that
/// probability if the shares are right.
public struct SampleRatioTest: Sendable, Hashable {
    /// The expected shares of the arms that should get any; they add up to 1.
    public let shares: [Double]
    /// How many users each of these arms has got.
    public private(set) var counts: [Int]
    /// The p-value at this moment.
    public private(set) var pValue = 1.0
    private let places: [Int?]
    private var logBayesFactor = 0.0
    private var total = 0
    /// How sure the mixture is of the expected shares.
    static let concentration = 10_000.0

    /// Creates a test.
    ///
    /// - Parameter weights: The arms' expected weights, in any unit; an arm with none is left out. `nil` is returned if one
    ///   isn't finite or is negative, or if fewer than two arms are left.
    public init?(weights: [Double]) {
        guard weights.allSatisfy({ $0.isFinite && $0 >= 0 }) else { return nil }
        let sum = weights.reduce(0, +)
        let kept = weights.filter { $0 > 0 }
        guard kept.count > 1, sum.isFinite else { return nil }
        shares = kept.map { $0 / sum }
        counts = kept.map { _ in 0 }
        var next = 0
        places = weights.map { weight in
            guard weight > 0 else { return nil }
            defer { next += 1 }
            return next
        }
    }

    /// How many users each arm has got, in the order of the weights; 0 for those that should get none.
    public var countsByArm: [Int] { places.map { place in place.map { counts[$0] } ?? 0 } }

    /// Counts a user into an arm, by its place among the weights.
    ///
    /// A user in an arm that should get none is the clearest mismatch there is: the p-value is 0 from then on.
    public mutating func count(arm: Int) {
        guard places.indices.contains(arm) else { return }
        guard let place = places[arm] else { return pValue = 0 }
        // One more user multiplies the Bayes factor by the mixture's probability of the arm over the expected one.
        let prior = shares[place] * Self.concentration
        let predicted = (prior + Double(counts[place])) / (Self.concentration + Double(total))
        logBayesFactor += log(predicted) - log(shares[place])
        counts[place] += 1
        total += 1
        pValue = min(pValue, exp(-logBayesFactor))
    }

    /// Counts many users at once, and looks once.
    ///
    /// - Parameter more: How many users each arm has got, in the order of the weights.
    public mutating func add(_ more: [Int]) {
        for (arm, number) in more.enumerated() where number > 0 && places.indices.contains(arm) {
            guard let place = places[arm] else { return pValue = 0 }
            counts[place] += number
            total += number
        }
        logBayesFactor = Self.logBayesFactor(counts, shares)
        pValue = min(pValue, exp(-logBayesFactor))
    }

    /// Whether users fall otherwise than they should.
    ///
    /// - Parameter level: How often in a thousand moves, say, a false alarm is put up with.
    /// - Returns: Whether the p-value has ever been that low.
    public func isAlarming(level: Double = 0.001) -> Bool { pValue <= level }

    /// The logarithm of the Bayes factor of all counts at once.
    ///
    /// log BF = lnΓ(Σα) − ΣlnΓ(αᵢ) + ΣlnΓ(αᵢ+nᵢ) − lnΓ(Σα+Σn) − Σ nᵢ ln θᵢ
    static func logBayesFactor(_ counts: [Int], _ shares: [Double]) -> Double {
        let total = Double(counts.reduce(0, +))
        var sum = lgamma(concentration) - lgamma(concentration + total)
        for (count, share) in zip(counts, shares) {
            let prior = share * concentration
            sum += lgamma(prior + Double(count)) - lgamma(prior) - Double(count) * log(share)
        }
        return sum
    }
}
