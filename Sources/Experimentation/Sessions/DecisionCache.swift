import Synchronization

/// Decisions with the data that determines their age.
struct HeldDecisions: Sendable {
    let decisions: Decisions
    /// When they were made.
    let instant: ContinuousClock.Instant
    /// When they expire, and what happens then.
    let expiry: Expiry?
    let afterExpiry: Freshness.AfterExpiry
    /// Whether a later answer was invalid.
    var isStale = false
    /// The identifier of the rules that decided.
    var validator: String?
    /// The number of changes that a vendor that is asked for each user had announced before.
    var changes = 0

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
    /// A user's cached answers, to one or several contexts, latest first.
    private struct Entry {
        var answers: [RecalledAnswer] = []

        func place(of digest: ContextDigest?) -> Int? { answers.firstIndex { $0.digest == digest } }

        /// Puts an answer before the others.
        mutating func lead(_ answer: RecalledAnswer, of most: Int) {
            answers.removeAll { $0.digest == answer.digest }
            answers = [answer] + answers.prefix(max(most, 1) - 1)
        }
    }

    private final class Shard: Sendable {
        let entries: Mutex<RecentlyUsed<Entry>>
        /// Changes whenever something is removed on request.
        let removals = Atomic<Int>(0)
        init(limit: Int) { entries = Mutex(RecentlyUsed(limit: limit)) }
    }

    /// The size in bytes from which threads don't share one lock.
    static let manyBytes = 8_000_000

    private let shards: [Shard]
    /// The number of contexts of a user for which answers are kept.
    private let contexts: Int

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - bytes: The approximate limit.
    ///   - contexts: The number of contexts of a user for which answers are kept.
    init(bytes: Int, contexts: Int = 1) {
        let count = bytes < Self.manyBytes ? 1 : 8
        shards = (0..<count).map { _ in Shard(limit: max(bytes, 0) / count) }
        self.contexts = contexts
    }

    private func shard(_ id: ExactText) -> Shard {
        shards.count == 1 ? shards[0] : shards[Int(UInt(bitPattern: id.hashValue) % UInt(shards.count))]
    }

    /// The number of users with cached answers.
    var count: Int { shards.reduce(0) { $0 + $1.entries.withLock { $0.count } } }

    /// The approximate size in bytes.
    var bytes: Int { shards.reduce(0) { $0 + $1.entries.withLock { $0.weight } } }

    /// The last decisions for a user with these attributes, or `nil`.
    func decisions(for user: User) -> HeldDecisions? {
        let id = ExactText(user.id)
        return shard(id).entries.withLock { entries in
            entries.use(id)?.answers.first { $0.held != nil && $0.attributes == user.attributes }?.held
        }
    }

    /// Returns the cached answers of the vendor to a context.
    func recall(
        _ digest: ContextDigest,
        of user: User,
        at now: ContinuousClock.Instant,
        by policy: AnswerReuse,
        after changes: Int
    ) -> RecalledAnswer.Recall {
        let id = ExactText(user.id)
        return shard(id).entries.withLock { entries in
            guard var entry = entries.use(id), let place = entry.place(of: digest) else { return .nothing }
            let recall = entry.answers[place].recall(at: now, by: policy, after: changes)
            if case .stale(_, isDue: true) = recall { entries.change(id) { $0 = entry } }
            return recall
        }
    }

    // MARK: Changes

    /// A number that changes whenever something of a user is removed on request.
    func removalCount(of user: User) -> Int { shard(ExactText(user.id)).removals.load(ordering: .acquiring) }

    /// Keeps decisions, and evicts the least recently used.
    ///
    /// - Parameters:
    ///   - held: The decisions.
    ///   - user: The user with all attributes.
    ///   - digest: The context.
    ///   - count: ``removalCount(of:)`` when the vendor was asked; what was removed since then stays removed.
    func keep(_ held: HeldDecisions, for user: User, in digest: ContextDigest? = nil, since count: Int? = nil) {
        let isKept = change(user, since: count) { [contexts] entry in
            entry.lead(RecalledAnswer(digest, user.attributes, held), of: contexts)
        }
        if !isKept, let digest { giveUp(digest, of: user) }
    }

    /// Notes that there was no answer; the last good one is stale from now on.
    ///
    /// - Parameters:
    ///   - error: Why not.
    ///   - user: The user with all attributes.
    ///   - digest: The context.
    ///   - isRemembered: Whether the failure is kept where there is no answer.
    ///   - now: The time.
    func fail(
        _ error: ExperimentationError,
        for user: User,
        in digest: ContextDigest?,
        isRemembered: Bool,
        at now: ContinuousClock.Instant
    ) {
        let id = ExactText(user.id)
        let isKnown = shard(id).entries.withLock { entries in
            var isKnown = false
            entries.change(id) { entry in
                guard let place = entry.place(of: digest) else { return }
                entry.answers[place].fail(error, at: now)
                isKnown = true
            }
            return isKnown
        }
        guard !isKnown, isRemembered, digest != nil else { return }
        change(user) { [contexts] entry in
            var answer = RecalledAnswer(digest, user.attributes)
            answer.fail(error, at: now)
            entry.lead(answer, of: contexts)
        }
    }

    /// Notes that the due answer isn't fetched after all.
    func giveUp(_ digest: ContextDigest, of user: User) {
        let id = ExactText(user.id)
        shard(id).entries.withLock { entries in
            entries.change(id) { entry in
                if let place = entry.place(of: digest) { entry.answers[place].giveUp() }
            }
        }
    }

    /// Changes a user's cached answers, unless some were removed since.
    @discardableResult
    private func change(_ user: User, since count: Int? = nil, _ change: (inout Entry) -> Void) -> Bool {
        let id = ExactText(user.id)
        let shard = shard(id)
        return shard.entries.withLock { entries in
            guard count == nil || count == shard.removals.load(ordering: .acquiring) else { return false }
            var entry = entries.use(id) ?? Entry()
            change(&entry)
            let weight = entry.answers.reduce(0) { $0 + Self.weight(of: $1, user.id) }
            entries.keep(entry, for: id, weighing: weight)
            return true
        }
    }

    /// Removes all users.
    func removeAll() { for shard in shards { remove(from: shard) { $0.removeAll() } } }

    /// Removes a user.
    func forget(_ userID: String) {
        let id = ExactText(userID)
        remove(from: shard(id)) { $0.remove(id) }
    }

    private func remove(from shard: Shard, _ remove: (inout RecentlyUsed<Entry>) -> Void) {
        shard.removals.wrappingAdd(1, ordering: .acquiringAndReleasing)
        shard.entries.withLock { remove(&$0) }
    }

    /// The size of an answer: its slot, the user's id and attributes, and the decisions' own tables.
    private static func weight(of answer: RecalledAnswer, _ userID: String) -> Int {
        256 + userID.utf8.count + FlagValue.object(answer.attributes.values).footprint
            + (answer.held?.decisions.footprint ?? 0)
    }
}
