import Experimentation
import Synchronization

/// A cache of recently seen users, bounded in number; entries expire after a minute, because other instances may delete
/// data.
final class RecentEntries: Sendable {
    private struct Known {
        var entry: AssignmentBook.Entry
        var end: ContinuousClock.Instant
    }

    /// A user by the bytes of the id: ids that Unicode treats as equal may belong to two people.
    ///
    /// A long id is replaced by its digest, so that entries are bounded in size as well; a short one is kept as it is.
    private enum ExactUser: Hashable {
        case bytes([UInt8])
        case digest(String)

        private static let longest = 64

        init(_ userID: String) {
            self = userID.utf8.count > Self.longest ? .digest(SeenEvents.digest(userID)) : .bytes(Array(userID.utf8))
        }
    }

    private struct State {
        var table: RecentTable<ExactUser, Known>
        var forgettings = 0
    }

    private let lifetime: Duration
    private let state: Mutex<State>

    init(limit: Int = 100_000, lifetime: Duration = .seconds(60)) {
        self.lifetime = lifetime
        state = Mutex(State(table: RecentTable(limit: limit)))
    }

    /// How often users have been forgotten so far: a result read before a user was forgotten isn't remembered
    /// afterward.
    var forgettings: Int { state.withLock { $0.forgettings } }

    func entry(of userID: String, at now: ContinuousClock.Instant) -> AssignmentBook.Entry? {
        let key = ExactUser(userID)
        guard let known = state.withLock({ $0.table[key] }), now < known.end else { return nil }
        return known.entry
    }

    /// Adds what was read, unless something was written or a user was forgotten meanwhile.
    func add(
        _ entry: AssignmentBook.Entry,
        of userID: String,
        at now: ContinuousClock.Instant,
        unlessForgottenSince forgettings: Int
    ) {
        let key = ExactUser(userID)
        state.withLock { state in
            if state.forgettings != forgettings { return }
            if let known = state.table[key], now < known.end { return }
            state.table.set(Known(entry: entry, end: now.advanced(by: lifetime)), for: key)
        }
    }

    /// Sets what was read or written, unless a user was forgotten meanwhile.
    func set(
        _ entry: AssignmentBook.Entry,
        of userID: String,
        at now: ContinuousClock.Instant,
        unlessForgottenSince forgettings: Int
    ) {
        let key = ExactUser(userID)
        state.withLock { state in
            if state.forgettings != forgettings { return }
            state.table.set(Known(entry: entry, end: now.advanced(by: lifetime)), for: key)
        }
    }

    func remove(_ userID: String) {
        let key = ExactUser(userID)
        state.withLock { $0.table.remove(key) }
    }

    /// Removes a user whose data is deleted.
    func forget(_ userID: String) {
        let key = ExactUser(userID)
        state.withLock { state in
            state.table.remove(key)
            state.forgettings += 1
        }
    }
}
