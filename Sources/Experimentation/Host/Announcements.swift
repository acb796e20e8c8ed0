import Synchronization

/// Announcements that are made in the order in which they were added, by one thread at a time, and without a lock.
///
/// Add an announcement while holding the lock that guards its subject, and make it after releasing that lock: a
/// listener may take the same lock, and a stream resumes its task under a lock that cancellation also holds.
package final class Announcements<Element: Sendable>: Sendable {
    private struct State {
        var waiting: [Element] = []
        var isAnnouncing = false
    }

    private let state = Mutex(State())

    /// Creates none.
    package init() {}

    /// Adds one.
    package func add(_ element: Element) { state.withLock { $0.waiting.append(element) } }

    /// Makes the announcements that were added, unless another thread, or a caller of this one, is doing so.
    ///
    /// - Parameter announce: Makes one.
    package func make(_ announce: (Element) -> Void) {
        let isFirst = state.withLock { state in
            defer { state.isAnnouncing = true }
            return !state.isAnnouncing
        }
        guard isFirst else { return }
        while let next = next() { announce(next) }
    }

    private func next() -> Element? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isAnnouncing = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
