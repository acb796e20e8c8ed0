import Experimentation
import Synchronization

/// A cache of recently seen users, bounded in number; entries expire after a minute, because other instances may delete a
/// user's data.
final class RecentEntries: Sendable {
    private struct Known {
        var entry: AssignmentBook.Entry
        var end: ContinuousClock.Instant
    }

    /// A user by the bytes of the id: Unicode takes two for equal that may belong to two people.
    ///
    /// A long id is known by its digest, so that the entries are bounded in size as well; a short one needs none.
    private enum ExactUser: Hashable {
        case bytes([UInt8])
        case digest(String)

        private static let longest = 64

        init(_ userID: String) {
            self = userID.utf8.count > Self.longest ? .digest(SeenEvents.digest(userID)) : .bytes(Array(userID.utf8))
        }
    }

    private let lifetime: Duration
    private let table: Mutex<RecentTable<ExactUser, Known>>

    init(limit: Int = 100_000, lifetime: Duration = .seconds(60)) {
        self.lifetime = lifetime
        table = Mutex(RecentTable(limit: limit))
    }

    func entry(of userID: String, at now: ContinuousClock.Instant) -> AssignmentBook.Entry? {
        let key = ExactUser(userID)
        guard let known = table.withLock({ $0[key] }), now < known.end else { return nil }
        return known.entry
    }

    /// Adds what was read, unless something was written meanwhile.
    func add(_ entry: AssignmentBook.Entry, of userID: String, at now: ContinuousClock.Instant) {
        let key = ExactUser(userID)
        table.withLock { table in
            if let known = table[key], now < known.end { return }
            table.set(Known(entry: entry, end: now.advanced(by: lifetime)), for: key)
        }
    }

    func set(_ entry: AssignmentBook.Entry, of userID: String, at now: ContinuousClock.Instant) {
        let key = ExactUser(userID)
        table.withLock { $0.set(Known(entry: entry, end: now.advanced(by: lifetime)), for: key) }
    }

    func remove(_ userID: String) {
        let key = ExactUser(userID)
        table.withLock { $0.remove(key) }
    }
}
