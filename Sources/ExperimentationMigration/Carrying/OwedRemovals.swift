import Experimentation
import Synchronization

/// Users whose removal a failing store has kept from happening.
final class OwedRemovals: Sendable {
    private let users = Mutex<[Identity]>([])

    var all: [Identity] { users.withLock { $0 } }

    func add(_ identity: Identity) {
        users.withLock { users in
            if !users.contains(identity) { users.append(identity) }
        }
    }

    func end(_ identity: Identity) { users.withLock { $0.removeAll { $0 == identity } } }
}
