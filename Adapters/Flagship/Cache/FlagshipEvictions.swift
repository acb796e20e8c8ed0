import Synchronization

/// Counts the events that a full outbox has dropped, and of which a cache hasn't been told.
final class FlagshipEvictions: Sendable {
    private let followed: Mutex<Int>

    init(known: Int) { followed = Mutex(known) }

    /// Whether it is time to look for dropped events.
    ///
    /// - Parameters:
    ///   - count: The number of events that were dropped so far.
    ///   - waiting: The number of events among which they are.
    ///   - isExact: Whether one is reason enough; otherwise a look is worth its while for each 64th of the events.
    /// - Returns: Whether it is.
    func areDue(_ count: Int, of waiting: Int, isExact: Bool) -> Bool {
        count - followed.withLock { $0 } > (isExact ? 0 : waiting / 64)
    }

    /// Records that a cache has been told of all events that were dropped so far.
    func follow(_ count: Int) { followed.withLock { $0 = max($0, count) } }
}
