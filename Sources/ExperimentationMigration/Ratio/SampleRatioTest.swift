import Foundation

/// Tests whether users are distributed over arms as intended; valid after every user.
///
/// The sequential test of Lindon and Malek, as in Optimizely's `ssrm-test`: a Dirichlet mixture around the expected
/// shares against the shares themselves. The p-value never rises; with correct shares, the probability that it ever
/// falls to a level is at most that level.
public struct SampleRatioTest: Sendable, Hashable {
    /// The expected shares of arms with a weight; they add up to 1.
    public let shares: [Double]
    /// The number of users in each of these arms.
    public private(set) var counts: [Int]
    /// The current p-value.
    public private(set) var pValue = 1.0
    private let places: [Int?]
    private var logBayesFactor = 0.0
    private var total = 0
    /// How closely the mixture is concentrated around the expected shares.
    static let concentration = 10_000.0

    /// Creates a test.
    ///
    /// - Parameter weights: The arms' weights, in any unit; arms with weight zero are left out. Returns `nil` if a
    ///   weight is negative or not finite, or if fewer than two arms remain.
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

    /// The number of users in each arm, in the order of the weights; 0 for arms without a weight.
    public var countsByArm: [Int] { places.map { place in place.map { counts[$0] } ?? 0 } }

    /// Counts a user into an arm, by its index among the weights.
    ///
    /// A user in an arm with weight zero proves a mismatch: the p-value is 0 from then on.
    public mutating func count(arm: Int) {
        guard places.indices.contains(arm) else { return }
        guard let place = places[arm] else { return pValue = 0 }
        // Each user multiplies the Bayes factor by the ratio of the mixture's probability of the arm to the expected
        // probability.
        let prior = shares[place] * Self.concentration
        let predicted = (prior + Double(counts[place])) / (Self.concentration + Double(total))
        logBayesFactor += log(predicted) - log(shares[place])
        counts[place] += 1
        total += 1
        pValue = min(pValue, exp(-logBayesFactor))
    }

    /// Counts many users and updates the p-value once.
    ///
    /// - Parameter more: The number of users in each arm, in the order of the weights.
    public mutating func add(_ more: [Int]) {
        for (arm, number) in more.enumerated() where number > 0 && places.indices.contains(arm) {
            guard let place = places[arm] else { return pValue = 0 }
            counts[place] += number
            total += number
        }
        logBayesFactor = Self.logBayesFactor(counts, shares)
        pValue = min(pValue, exp(-logBayesFactor))
    }

    /// Whether users are distributed otherwise than intended.
    ///
    /// - Parameter level: The accepted probability of a false alarm, such as 0.001 for one in a thousand moves.
    /// - Returns: Whether the p-value has ever been at or below the level.
    public func isAlarming(level: Double = 0.001) -> Bool { pValue <= level }

    /// The logarithm of the Bayes factor of all counts.
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
