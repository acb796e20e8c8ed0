import Synchronization

/// Decisions with what is needed to tell their age.
struct HeldDecisions: Sendable {
    let decisions: Decisions
    /// When they were made.
    let instant: ContinuousClock.Instant
    /// When they expire, and what follows.
    let expiry: Expiry?
    let afterExpiry: Freshness.AfterExpiry
    /// Whether a later answer was invalid.
    var isStale = false

    /// How to read them, given their age.
    enum Standing: Sendable, Equatable {
        /// They are current.
        case good
        /// They are the last good ones.
        case stale
        /// They count as absent.
        case gone
    }

    /// How to read them now.
    var standing: Standing {
        if let expiry, expiry.hasPassed { return afterExpiry == .notReady ? .gone : .stale }
        return isStale ? .stale : .good
    }
}

/// A cache of the most recently requested users' decisions, for evaluations without a session; bounded in bytes.
///
/// A small cache is a single shard, which evicts its least recently used entry. From eight megabytes on there are eight
/// shards, so that threads don't wait for each other, and each evicts its own. The newest entry always stays.
final class DecisionCache: Sendable {
    private struct Entry {
        var held: HeldDecisions
        var attributes: Attributes
    }

    private final class Shard: Sendable {
        let entries: Mutex<RecentlyUsed<Entry>>
        init(limit: Int) { entries = Mutex(RecentlyUsed(limit: limit)) }
    }

    /// The size in bytes from which threads don't share one lock.
    static let manyBytes = 8_000_000

    private let shards: [Shard]

    /// Creates an empty cache.
    ///
    /// - Parameter bytes: The approximate limit.
    init(bytes: Int) {
        let count = bytes < Self.manyBytes ? 1 : 8
        shards = (0..<count).map { _ in Shard(limit: max(bytes, 0) / count) }
    }

    private func shard(_ id: ExactText) -> Shard {
        shards.count == 1 ? shards[0] : shards[Int(UInt(bitPattern: id.hashValue) % UInt(shards.count))]
    }

    /// The number of users whose decisions are kept.
    var count: Int { shards.reduce(0) { $0 + $1.entries.withLock { $0.count } } }

    /// The approximate size in bytes.
    var bytes: Int { shards.reduce(0) { $0 + $1.entries.withLock { $0.weight } } }

    /// The decisions for a user with these attributes, or `nil`.
    func decisions(for user: User) -> HeldDecisions? {
        let id = ExactText(user.id)
        return shard(id).entries.withLock { entries in
            guard let entry = entries.use(id), entry.attributes == user.attributes else { return nil }
            return entry.held
        }
    }

    /// Keeps decisions, and evicts the least recently used.
    func keep(_ held: HeldDecisions, for user: User) {
        let id = ExactText(user.id)
        let weight = Self.weight(of: held.decisions, user)
        shard(id).entries.withLock {
            $0.keep(Entry(held: held, attributes: user.attributes), for: id, weighing: weight)
        }
    }

    /// Marks a user's decisions as stale after an invalid answer.
    func markStale(_ userID: String) {
        let id = ExactText(userID)
        shard(id).entries.withLock { $0.change(id) { $0.held.isStale = true } }
    }

    /// Removes all users.
    func removeAll() { for shard in shards { shard.entries.withLock { $0.removeAll() } } }

    /// Removes a user.
    func forget(_ userID: String) {
        let id = ExactText(userID)
        shard(id).entries.withLock { $0.remove(id) }
    }

    /// The size of an entry: its slot, the user's id and attributes, and the decisions' own tables.
    private static func weight(of decisions: Decisions, _ user: User) -> Int {
        256 + user.id.utf8.count + FlagValue.object(user.attributes.values).footprint + decisions.footprint
    }
}
