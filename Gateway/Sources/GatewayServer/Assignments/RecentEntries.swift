import Experimentation
import Synchronization

/// A cache of recently seen users, bounded in number; entries expire after a minute, because other instances may delete a
/// user's data.
final class RecentEntries: Sendable {
    private struct Known {
        var entry: AssignmentBook.Entry
        var end: ContinuousClock.Instant
    }

    private let lifetime: Duration
    private let table: Mutex<RecentTable<String, Known>>

    init(limit: Int = 100_000, lifetime: Duration = .seconds(60)) {
        self.lifetime = lifetime
        table = Mutex(RecentTable(limit: limit))
    }

    func entry(of userID: String, at now: ContinuousClock.Instant) -> AssignmentBook.Entry? {
        guard let known = table.withLock({ $0[userID] }), now < known.end else { return nil }
        return known.entry
    }

    /// Adds what was read, unless something was written meanwhile.
    func add(_ entry: AssignmentBook.Entry, of userID: String, at now: ContinuousClock.Instant) {
        table.withLock { table in
            if let known = table[userID], now < known.end { return }
            table.set(Known(entry: entry, end: now.advanced(by: lifetime)), for: userID)
        }
    }

    func set(_ entry: AssignmentBook.Entry, of userID: String, at now: ContinuousClock.Instant) {
        table.withLock { $0.set(Known(entry: entry, end: now.advanced(by: lifetime)), for: userID) }
    }

    func remove(_ userID: String) { table.withLock { $0.remove(userID) } }
}
