import Synchronization

/// Says whether a tenant's shared database is known to be away; who knows may change.
final class DatabaseSight: Sendable {
    private let state: Mutex<@Sendable () -> Bool>

    init(_ isAway: @escaping @Sendable () -> Bool) { state = Mutex(isAway) }

    var isAway: Bool { state.withLock { $0 }() }

    func see(by isAway: @escaping @Sendable () -> Bool) { state.withLock { $0 = isAway } }
}
