import Synchronization

/// Decisions with what has to be known to say how old they are.
struct HeldDecisions: Sendable {
    let decisions: Decisions
    /// When they were made.
    let instant: ContinuousClock.Instant
    /// When they are overdue, and what follows.
    let expiry: Expiry?
    let afterExpiry: Freshness.AfterExpiry
    /// Whether a later answer was bad.
    var isStale = false

    /// How they are to be read, by what is said of their age.
    enum Standing: Sendable, Equatable {
        /// There is nothing to say.
        case good
        /// They are the last good ones.
        case stale
        /// They count as not there.
        case gone
    }

    /// How they are to be read now.
    var standing: Standing {
        if let expiry, expiry.hasPassed { return afterExpiry == .notReady ? .gone : .stale }
        return isStale ? .stale : .good
    }
}

/// Decisions of the users who were asked about last, for evaluations without a session; bounded in bytes.
///
/// A small budget is one place, where the one unused for longest goes. From eight megabytes on they stand in eight, so that
/// threads don't wait for each other, and the one unused for longest of its eighth goes. The one that came last always stays.
final class DecisionCache: Sendable {
    private struct Entry {
        var held: HeldDecisions
        var attributes: Attributes
    }

    private final class Shard: Sendable {
        let entries: Mutex<RecentlyUsed<Entry>>
        init(limit: Int) { entries = Mutex(RecentlyUsed(limit: limit)) }
    }

    /// From how many bytes on threads don't share one lock.
    static let manyBytes = 8_000_000

    private let shards: [Shard]

    /// Creates an empty cache.
    ///
    /// - Parameter bytes: How much it may take, roughly.
    init(bytes: Int) {
        let count = bytes < Self.manyBytes ? 1 : 8
        shards = (0..<count).map { _ in Shard(limit: max(bytes, 0) / count) }
    }

    private func shard(_ id: ExactText) -> Shard {
        shards.count == 1 ? shards[0] : shards[Int(UInt(bitPattern: id.hashValue) % UInt(shards.count))]
    }

    /// How many users' decisions are kept.
    var count: Int { shards.reduce(0) { $0 + $1.entries.withLock { $0.count } } }

    /// How many bytes they take, roughly.
    var bytes: Int { shards.reduce(0) { $0 + $1.entries.withLock { $0.weight } } }

    /// The decisions for a user with these attributes, or `nil`.
    func decisions(for user: User) -> HeldDecisions? {
        let id = ExactText(user.id)
        return shard(id).entries.withLock { entries in
            guard let entry = entries.use(id), entry.attributes == user.attributes else { return nil }
            return entry.held
        }
    }

    /// Keeps decisions, and lets go of the ones unused for longest.
    func keep(_ held: HeldDecisions, for user: User) {
        let id = ExactText(user.id)
        let weight = Self.weight(of: held.decisions, user)
        shard(id).entries.withLock {
            $0.keep(Entry(held: held, attributes: user.attributes), for: id, weighing: weight)
        }
    }

    /// Notes that a later answer for a user was bad.
    func markStale(_ userID: String) {
        let id = ExactText(userID)
        shard(id).entries.withLock { $0.change(id) { $0.held.isStale = true } }
    }

    /// Forgets all users.
    func removeAll() { for shard in shards { shard.entries.withLock { $0.removeAll() } } }

    /// Forgets a user.
    func forget(_ userID: String) {
        let id = ExactText(userID)
        shard(id).entries.withLock { $0.remove(id) }
    }

    /// What an entry takes: its place, the user's id and attributes, and the decisions' own tables.
    private static func weight(of decisions: Decisions, _ user: User) -> Int {
        256 + user.id.utf8.count + FlagValue.object(user.attributes.values).footprint + decisions.footprint
    }
}
