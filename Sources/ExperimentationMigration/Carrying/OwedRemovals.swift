import Experimentation
import Synchronization

/// What decisions have written about users who were removed meanwhile, where a failing store has kept it.
final class OwedRemovals: Sendable {
    /// What a decision has written.
    struct Written: Sendable, Hashable {
        var identity: Identity
        /// The digest under which the record is stored.
        var digest: String
    }

    private let list = Mutex<[Written]>([])

    var all: [Written] { list.withLock { $0 } }

    func add(_ written: Written) {
        list.withLock { list in
            if !list.contains(written) { list.append(written) }
        }
    }

    func end(_ written: Written) { list.withLock { $0.removeAll { $0 == written } } }
}
