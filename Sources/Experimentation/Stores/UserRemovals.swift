import Synchronization

/// Tells work under way for users that they have been removed meanwhile, so that it keeps nothing of them.
package final class UserRemovals: Sendable {
    /// Work under way for a user.
    package final class Watch: Sendable {
        private let removed = Atomic(false)

        /// Whether the user has been removed since the work began.
        package var isRemoved: Bool { removed.load(ordering: .sequentiallyConsistent) }

        fileprivate func remove() { removed.store(true, ordering: .sequentiallyConsistent) }
    }

    private let watches = Mutex<[ExactText: [ObjectIdentifier: Watch]]>([:])

    package init() {}

    /// Runs work for a user.
    package func watching<Value: Sendable, Problem: Error>(
        _ userID: String,
        _ work: (Watch) async throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        let (id, watch) = (ExactText(userID), Watch())
        watches.withLock { $0[id, default: [:]][ObjectIdentifier(watch)] = watch }
        defer {
            watches.withLock { watches in
                watches[id]?[ObjectIdentifier(watch)] = nil
                if watches[id]?.isEmpty == true { watches[id] = nil }
            }
        }
        return try await work(watch)
    }

    /// Notes that a user is being removed.
    ///
    /// Call it before anything is removed: work that looks after its own write then sees it, or the removal comes after
    /// that write.
    package func note(_ userID: String) {
        watches.withLock { $0[ExactText(userID)]?.values.forEach { $0.remove() } }
    }
}
