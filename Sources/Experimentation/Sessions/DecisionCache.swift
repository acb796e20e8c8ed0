import Synchronization

/// Decisions of the users who were asked about last, for evaluations without a session; bounded, in shards.
final class DecisionCache: Sendable {
    private struct Entry {
        var decisions: Decisions
        var attributes: Attributes
        var used: UInt64
    }

    private struct Shard {
        var entries: [String: Entry] = [:]
        var clock: UInt64 = 0
    }

    private final class ShardBox: Sendable {
        let state = Mutex(Shard())
    }

    private let shards: [ShardBox]
    private let limitPerShard: Int

    init(limit: Int) {
        shards = (0..<8).map { _ in ShardBox() }
        limitPerShard = max(1, (max(limit, 1) + 7) / 8)
    }

    private func shard(_ id: String) -> ShardBox { shards[Int(UInt(bitPattern: id.hashValue) & 7)] }

    /// The decisions for a user with these attributes, or `nil`.
    func decisions(for user: User) -> Decisions? {
        shard(user.id).state.withLock { shard in
            guard let entry = shard.entries[user.id], entry.attributes == user.attributes else { return nil }
            shard.clock += 1
            shard.entries[user.id]?.used = shard.clock
            return entry.decisions
        }
    }

    /// Keeps decisions, and lets go of the ones unused for longest.
    func keep(_ decisions: Decisions, for user: User) {
        shard(user.id).state.withLock { shard in
            shard.clock += 1
            shard.entries[user.id] = Entry(decisions: decisions, attributes: user.attributes, used: shard.clock)
            while shard.entries.count > limitPerShard,
                let oldest = shard.entries.min(by: { $0.value.used < $1.value.used })
            {
                shard.entries[oldest.key] = nil
            }
        }
    }

    /// Forgets everybody.
    func removeAll() { for shard in shards { shard.state.withLock { $0.entries = [:] } } }

    /// Forgets a user.
    func forget(_ userID: String) { shard(userID).state.withLock { $0.entries[userID] = nil } }
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
    var userID: String
    var experiment: String
    var group: String
    var variation: String

    init(userID: String, assignment: Assignment) {
        self.userID = userID
        experiment = assignment.experiment.id
        group = assignment.group
        variation = assignment.variation.id
    }
}
