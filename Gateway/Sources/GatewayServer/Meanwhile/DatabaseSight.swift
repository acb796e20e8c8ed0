import Synchronization

/// Says whether a tenant's shared database is known to be away; who knows may change.
final class DatabaseSight: Sendable {
    /// A closure that a generic type holds by itself is wrapped once more with each access: after a million, a call would go
    /// through as many wrappers.
    private struct Eye: Sendable {
        let isAway: @Sendable () -> Bool
    }

    private let eye: Mutex<Eye>

    init(_ isAway: @escaping @Sendable () -> Bool) { eye = Mutex(Eye(isAway: isAway)) }

    var isAway: Bool { eye.withLock { $0 }.isAway() }

    func see(by isAway: @escaping @Sendable () -> Bool) { eye.withLock { $0 = Eye(isAway: isAway) } }
}
