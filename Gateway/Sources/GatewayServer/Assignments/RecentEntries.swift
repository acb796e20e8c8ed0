import Experimentation
import Synchronization

/// What is known of the users who were asked about lately: so many at most, and each for a minute.
///
/// Others may forget a user meanwhile, and this one learns of it when the minute is over.
final class RecentEntries: Sendable {
    private struct Known {
        var entry: AssignmentBook.Entry
        var end: ContinuousClock.Instant
    }

    private let limit: Int
    private let lifetime: Duration
    private let state = Mutex((young: [String: Known](), old: [String: Known]()))

    init(limit: Int = 100_000, lifetime: Duration = .seconds(60)) {
        self.limit = limit
        self.lifetime = lifetime
    }

    func entry(of userID: String, at now: ContinuousClock.Instant) -> AssignmentBook.Entry? {
        state.withLock { state in
            guard let known = state.young[userID] ?? state.old[userID], now < known.end else { return nil }
            return known.entry
        }
    }

    /// Adds what was read, unless something was written meanwhile.
    func add(_ entry: AssignmentBook.Entry, of userID: String, at now: ContinuousClock.Instant) {
        state.withLock { state in
            if let known = state.young[userID] ?? state.old[userID], now < known.end { return }
            if state.young.count >= limit / 2 { state = ([:], state.young) }
            state.young[userID] = Known(entry: entry, end: now.advanced(by: lifetime))
        }
    }

    func set(_ entry: AssignmentBook.Entry, of userID: String, at now: ContinuousClock.Instant) {
        state.withLock { state in
            if state.young.count >= limit / 2 { state = ([:], state.young) }
            state.young[userID] = Known(entry: entry, end: now.advanced(by: lifetime))
        }
    }

    func remove(_ userID: String) {
        state.withLock { state in
            state.young[userID] = nil
            state.old[userID] = nil
        }
    }
}
