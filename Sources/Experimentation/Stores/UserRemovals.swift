import Synchronization

/// Tells work under way for users that they have been removed meanwhile, so that it keeps nothing of them.
package final class UserRemovals: Sendable {
    /// A watch on a user, for as long as it is held.
    package final class Watch: Sendable {
        fileprivate final class Mark: Sendable {
            let isSet = Atomic(false)
        }

        fileprivate let mark = Mark()
        private let user: ExactText
        private let removals: UserRemovals

        fileprivate init(_ user: ExactText, _ removals: UserRemovals) {
            (self.user, self.removals) = (user, removals)
            removals.add(mark, of: user)
        }

        deinit { removals.remove(mark, of: user) }

        /// Whether the user has been removed since the watch began.
        package var isRemoved: Bool { mark.isSet.load(ordering: .sequentiallyConsistent) }
    }

    private let marks = Mutex<[ExactText: [ObjectIdentifier: Watch.Mark]]>([:])

    package init() {}

    /// Begins to watch a user.
    package func watch(_ userID: String) -> Watch { Watch(ExactText(userID), self) }

    /// Runs work for a user.
    package func watching<Value: Sendable, Problem: Error>(
        _ userID: String,
        _ work: (Watch) async throws(Problem) -> Value
    ) async throws(Problem) -> Value { try await work(watch(userID)) }

    /// Notes that a user is being removed.
    ///
    /// Call it before anything is removed: work that looks after its own write then sees it, or the removal comes after
    /// that write. A caller that only wants to know whether its write is still there is told after the removal.
    package func note(_ userID: String) {
        marks.withLock { marks in
            marks[ExactText(userID)]?.values.forEach { $0.isSet.store(true, ordering: .sequentiallyConsistent) }
        }
    }

    private func add(_ mark: Watch.Mark, of user: ExactText) {
        marks.withLock { $0[user, default: [:]][ObjectIdentifier(mark)] = mark }
    }

    private func remove(_ mark: Watch.Mark, of user: ExactText) {
        marks.withLock { marks in
            marks[user]?[ObjectIdentifier(mark)] = nil
            if marks[user]?.isEmpty == true { marks[user] = nil }
        }
    }
}
