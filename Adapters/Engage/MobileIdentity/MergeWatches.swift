import Experimentation
import Synchronization

/// The watches over the users of merges, kept from one step to the next.
final class MergeWatches: Sendable {
    /// The maximum number of merges that are between two steps; some may have been abandoned.
    private static let most = 1_000

    private let watches: UserWatches<UserEvent>
    private let known = Mutex<[String: UserWatch]>([:])

    init(_ watches: UserWatches<UserEvent>) { self.watches = watches }

    /// Watches the known users of a merge until ``end(_:)``.
    @discardableResult
    func begin(_ intent: MergeIntent) -> UserWatch {
        let new = watches.watch(intent.users)
        return known.withLock { known in
            if let watch = known[intent.id] {
                watch.add(intent.users)
                return watch
            }
            if known.count >= Self.most { _ = known.popFirst() }
            known[intent.id] = new
            return new
        }
    }

    /// Notes that a merge is over.
    func end(_ intent: MergeIntent) { known.withLock { $0[intent.id] = nil } }
}
