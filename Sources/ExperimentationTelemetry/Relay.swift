import Dispatch
import Experimentation
import Synchronization

/// Takes things from those who can't wait, and handles them on a thread of its own, a moment later.
///
/// A reader of flags must not wait for whoever takes logs or counts. So what is to be said is put into a bounded line, and a
/// queue of its own empties it: at most every tenth of a second, or once the line is half full. While its handler is blocked,
/// the line fills up, and the rest is dropped and counted.
final class Relay<Item: Sendable>: Sendable {
    private struct State {
        var waiting: [Item] = []
        var spare: [Item] = []
        var dropped = 0
        /// Whether the line is going to be emptied.
        var isAwaited = false
        /// Whether it is going to be emptied at once.
        var isUrgent = false
    }

    /// When the line is to be emptied.
    private enum Wake { case no, soon, now }

    private let state: Mutex<State>
    private let limit: Int
    private let queue = DispatchQueue(label: "experimentation.telemetry")
    private let handle: @Sendable (_ items: [Item], _ dropped: Int) -> Void

    /// Creates a relay.
    ///
    /// - Parameters:
    ///   - limit: How many may wait.
    ///   - handle: Handles what has waited, in order, and hears how many were dropped since.
    init(limit: Int, handle: @escaping @Sendable (_ items: [Item], _ dropped: Int) -> Void) {
        self.limit = limit
        self.handle = handle
        var state = State()
        state.waiting.reserveCapacity(limit)
        state.spare.reserveCapacity(limit)
        self.state = Mutex(state)
    }

    /// Puts something into the line, or drops it if that is full; returns at once.
    func put(_ item: Item) {
        let wake = state.withLock { state -> Wake in
            if state.waiting.count >= limit {
                state.dropped += 1
            } else {
                state.waiting.append(item)
            }
            if !state.isUrgent, state.waiting.count * 2 >= limit {
                state.isUrgent = true
                return .now
            }
            if state.isAwaited { return .no }
            state.isAwaited = true
            return .soon
        }
        switch wake {
        case .no: return
        case .soon: queue.asyncAfter(deadline: .now() + .milliseconds(100)) { [weak self] in self?.empty() }
        case .now: queue.async { [weak self] in self?.empty() }
        }
    }

    /// Handles what waits, and then something else, in the relay's own thread; doesn't wait for it.
    func empty(then next: @escaping @Sendable () -> Void) {
        queue.async { [weak self] in
            self?.empty()
            next()
        }
    }

    private func empty() {
        let taken = state.withLock { state -> (items: [Item], dropped: Int) in
            state.isAwaited = false
            state.isUrgent = false
            let items = state.waiting
            state.waiting = state.spare
            state.spare = []
            defer { state.dropped = 0 }
            return (items, state.dropped)
        }
        var items = taken.items
        let dropped = taken.dropped
        if !items.isEmpty || dropped > 0 { handle(items, dropped) }
        items.removeAll(keepingCapacity: true)
        // Emptied, it takes the next ones without asking for memory.
        let emptied = items
        state.withLock { if $0.spare.capacity < emptied.capacity { $0.spare = emptied } }
    }
}
