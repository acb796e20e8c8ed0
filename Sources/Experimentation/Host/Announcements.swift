import Synchronization

/// Announcements that are made in the order in which they were added, by one thread at a time, and without a lock.
///
/// Add an announcement while holding the lock that guards its subject, and make it after releasing that lock. A
/// listener may take the same lock, and a stream resumes its task under a lock that cancellation also holds.
package final class Announcements<Element: Sendable>: Sendable {
    private struct State {
        var waiting: [Element] = []
        var isAnnouncing = false
    }

    private let state = Mutex(State())

    /// Creates an empty list of announcements.
    package init() {}

    /// Adds an announcement.
    package func add(_ element: Element) { state.withLock { $0.waiting.append(element) } }

    /// Changes a state under its lock, and then announces the part of it that has changed, if it has.
    ///
    /// - Parameters:
    ///   - part: What is announced.
    ///   - state: The state.
    ///   - change: Changes it.
    ///   - announce: Makes one announcement.
    /// - Returns: What the change returns.
    package func change<State: Sendable, Value: Sendable>(
        _ part: KeyPath<State, Element>,
        of state: borrowing Mutex<State>,
        by change: (inout State) -> Value,
        announce: (Element) -> Void
    ) -> Value where Element: Equatable {
        let value = state.withLock { state in
            let former = state[keyPath: part]
            let value = change(&state)
            if state[keyPath: part] != former { add(state[keyPath: part]) }
            return value
        }
        make(announce)
        return value
    }

    /// Makes the announcements that were added, unless another thread, or a caller of this one, is doing so.
    ///
    /// - Parameter announce: Makes one announcement.
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
