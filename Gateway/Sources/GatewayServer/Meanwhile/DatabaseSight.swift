import Synchronization

/// Tells whether the shared database is known to be away; the source of that knowledge can be replaced.
final class DatabaseSight: Sendable {
    /// A struct, because Swift adds a wrapper each time a bare closure is read out of a generic type.
    ///
    /// After a million reads, a call would pass through all the wrappers.
    private struct Eye: Sendable {
        let isAway: @Sendable () -> Bool
    }

    private let eye: Mutex<Eye>

    init(_ isAway: @escaping @Sendable () -> Bool) { eye = Mutex(Eye(isAway: isAway)) }

    var isAway: Bool { eye.withLock { $0 }.isAway() }

    func see(by isAway: @escaping @Sendable () -> Bool) { eye.withLock { $0 = Eye(isAway: isAway) } }
}
