import Experimentation
import Synchronization

/// Counts evaluations by flag, variant and reason, and the users of each variant; fast enough to run on each read.
final class EvaluationTally: Sendable {
    /// The dimensions of a counter.
    struct Series: Sendable, Hashable {
        var key: ExactText
        var variant: ExactText
        var reason: String
        var error: String
    }

    /// The counts since the last ``EvaluationTally/take()``.
    struct Growth: Sendable, Equatable {
        var evaluations: [Series: Int] = [:]
        /// The estimated total number of users of each variant, by flag and variant.
        var users: [ExactText: [ExactText: Int]] = [:]
    }

    /// The name under which flags and variants over the limits are counted together.
    static let others = "_other"
    /// The maximum number of variants of a flag that are counted separately.
    static let mostVariants = 32

    fileprivate struct Variant {
        /// The variant's name; empty for no variant.
        let name: ExactText
        var counts = ReasonCounts()
        var users = UserCount()
    }

    private struct Shard: Sendable {
        var places: [ExactText: Int] = [:]
        var flags: [Flag] = []
    }

    /// The counts of a flag; accessed only under a lock, its shard's or that of the others.
    fileprivate final class Flag: @unchecked Sendable {
        let key: ExactText
        var variants: [Variant] = []
        init(_ key: ExactText) { self.key = key }
    }

    private static let shardCount = 8
    private let shards: [Mutexed]
    /// The flags over the limit, counted as one flag, so that a user of several counts once.
    private let rest = Mutex(Flag(ExactText(EvaluationTally.others)))
    /// The number of flags that are counted separately, in all shards.
    private let separate = Atomic(0)
    private let limit: Int

    private final class Mutexed: Sendable {
        let shard = Mutex(Shard())
    }

    /// Creates a tally with a limit on the flags that are counted separately.
    init(limit: Int) {
        self.limit = limit
        shards = (0..<Self.shardCount).map { _ in Mutexed() }
    }

    /// Counts an evaluation.
    func add(_ details: EvaluationDetails<FlagValue>, of user: String) {
        let number = user.isEmpty ? nil : UserCount.number(of: user)
        let shard = shards[Self.shard(of: details.flagKey)]
        let isSeparate = shard.shard.withLock { shard in
            guard let flag = flag(details.flagKey, in: &shard) else { return false }
            flag.add(details, number)
            return true
        }
        if !isSeparate { rest.withLock { $0.add(details, number) } }
    }

    private static func shard(of key: String) -> Int { (key.utf8.count ^ Int(key.utf8.last ?? 0)) & (shardCount - 1) }

    /// Returns a flag that is counted separately; `nil` for one of the others.
    private func flag(_ key: String, in shard: inout Shard) -> Flag? {
        let exact = ExactText(key)
        if let place = shard.places[exact] { return shard.flags[place] }
        guard key != Self.others, takesPlace() else { return nil }
        shard.places[exact] = shard.flags.count
        let flag = Flag(exact)
        shard.flags.append(flag)
        return flag
    }

    private func takesPlace() -> Bool {
        // Read first, so that flags over the limit don't contend for the counter.
        separate.load(ordering: .relaxed) < limit && separate.add(1, ordering: .relaxed).oldValue < limit
    }

    /// Returns the counts since the last call.
    func take() -> Growth {
        var growth = Growth()
        for shard in shards {
            shard.shard.withLock { shard in
                for flag in shard.flags { flag.take(into: &growth) }
            }
        }
        rest.withLock { $0.take(into: &growth) }
        return growth
    }
}

extension EvaluationTally.Flag {
    func add(_ details: EvaluationDetails<FlagValue>, _ user: UInt64?) {
        let place = place(of: ExactText(details.variant ?? ""))
        if let user { variants[place].users.insert(user) }
        variants[place].counts.add(details.reason, details.errorCode)
    }

    private func place(of variant: ExactText) -> Int {
        if let place = variants.firstIndex(where: { $0.name == variant }) { return place }
        let others = ExactText(EvaluationTally.others)
        if variants.count >= EvaluationTally.mostVariants, variant != others { return place(of: others) }
        variants.append(EvaluationTally.Variant(name: variant))
        return variants.count - 1
    }

    func take(into growth: inout EvaluationTally.Growth) {
        for place in variants.indices {
            let variant = variants[place].name
            for counted in variants[place].counts.take() {
                let series = EvaluationTally.Series(
                    key: key,
                    variant: variant,
                    reason: counted.reason.rawValue.lowercased(),
                    error: counted.error?.rawValue.lowercased() ?? ""
                )
                growth.evaluations[series, default: 0] += counted.count
            }
            growth.users[key, default: [:]][variant] = Int(variants[place].users.estimate.rounded())
        }
    }
}
