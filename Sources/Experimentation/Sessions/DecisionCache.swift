import Synchronization

/// Decisions of the users who were asked about last, for evaluations without a session.
///
/// There are never more than the limit. Up to a thousand they stand in one place, and the one unused for longest goes; beyond,
/// they stand in eight, so that threads don't wait for each other, and the one unused for longest of its eighth goes.
final class DecisionCache: Sendable {
    private struct Entry {
        var decisions: Decisions
        var attributes: Attributes
    }

    private final class Shard: Sendable {
        let entries: Mutex<RecentlyUsed<Entry>>
        init(limit: Int) { entries = Mutex(RecentlyUsed(limit: limit)) }
    }

    private let shards: [Shard]

    init(limit: Int) {
        let limit = max(limit, 1)
        let count = limit <= 1_000 ? 1 : 8
        shards = (0..<count).map { Shard(limit: limit / count + ($0 < limit % count ? 1 : 0)) }
    }

    private func shard(_ id: ExactText) -> Shard {
        shards.count == 1 ? shards[0] : shards[Int(UInt(bitPattern: id.hashValue) % UInt(shards.count))]
    }

    /// How many users' decisions are kept.
    var count: Int { shards.reduce(0) { $0 + $1.entries.withLock { $0.count } } }

    /// The decisions for a user with these attributes, or `nil`.
    func decisions(for user: User) -> Decisions? {
        let id = ExactText(user.id)
        return shard(id).entries.withLock { entries in
            guard let entry = entries.use(id), entry.attributes == user.attributes else { return nil }
            return entry.decisions
        }
    }

    /// Keeps decisions, and lets go of the ones unused for longest.
    func keep(_ decisions: Decisions, for user: User) {
        let id = ExactText(user.id)
        shard(id).entries.withLock { $0.keep(Entry(decisions: decisions, attributes: user.attributes), for: id) }
    }

    /// Forgets everybody.
    func removeAll() { for shard in shards { shard.entries.withLock { $0.removeAll() } } }

    /// Forgets a user.
    func forget(_ userID: String) {
        let id = ExactText(userID)
        shard(id).entries.withLock { $0.remove(id) }
    }
}

/// Remembers the exposures recorded without a session last, so that each is recorded once in a while; bounded.
final class RecentExposures: Sendable {
    private struct State {
        var young: Set<ExposureKey> = []
        var old: Set<ExposureKey> = []
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) { self.limit = max(limit, 2) }

    /// Notes an exposure.
    ///
    /// - Returns: Whether it is new.
    func insert(_ key: ExposureKey) -> Bool {
        state.withLock { state in
            if state.young.contains(key) { return false }
            let isNew = !state.old.contains(key)
            state.young.insert(key)
            if state.young.count >= limit / 2 {
                // Two generations: what hasn't been seen for a whole one is forgotten, at constant cost.
                state.old = state.young
                state.young = []
            }
            return isNew
        }
    }
}

/// What makes two exposures the same.
struct ExposureKey: Hashable, Sendable {
    var userID: ExactText
    var experiment: String
    var group: String
    var variation: String

    init(userID: String, assignment: Assignment) {
        self.userID = ExactText(userID)
        experiment = assignment.experiment.id
        group = assignment.group
        variation = assignment.variation.id
    }
}
