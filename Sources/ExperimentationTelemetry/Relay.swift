import Dispatch
import Experimentation
import Synchronization

/// Passes items from threads that must not wait to a handler on a queue of its own.
///
/// A flag read must not wait for a logging or metrics backend. Items go into a bounded buffer, which a dispatch queue
/// drains 100 ms after the first item, or as soon as it is half full. While the handler blocks, the buffer fills;
/// further items are dropped and counted.
final class Relay<Item: Sendable>: Sendable {
    private struct State {
        var waiting: [Item] = []
        var spare: [Item] = []
        var dropped = 0
        /// Whether a drain is scheduled.
        var isAwaited = false
        /// Whether an immediate drain is scheduled.
        var isUrgent = false
    }

    /// Which drain to schedule.
    private enum Wake { case no, soon, now }

    private let state: Mutex<State>
    private let limit: Int
    private let queue = DispatchQueue(label: "experimentation.telemetry")
    private let handle: @Sendable (_ items: [Item], _ dropped: Int) -> Void

    /// Creates a relay.
    ///
    /// - Parameters:
    ///   - limit: The buffer's capacity.
    ///   - handle: Handles the items in order, with the number of items dropped since its last call.
    init(limit: Int, handle: @escaping @Sendable (_ items: [Item], _ dropped: Int) -> Void) {
        self.limit = limit
        self.handle = handle
        var state = State()
        let usual = min(limit, 1_024)
        state.waiting.reserveCapacity(usual)
        state.spare.reserveCapacity(usual)
        self.state = Mutex(state)
    }

    /// Adds an item, or drops it if the buffer is full; returns at once.
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

    /// Schedules a drain and then `next` on the relay's queue; doesn't wait.
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
        // Reuses the emptied buffer instead of allocating one.
        let emptied = items
        state.withLock { if $0.spare.capacity < emptied.capacity { $0.spare = emptied } }
    }
}
