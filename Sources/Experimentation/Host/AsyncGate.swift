import Synchronization

/// A gate that opens once and lets all present and later callers pass.
///
/// A cancelled task stops waiting. For something that happens repeatedly, replace the opened gate with a new one.
package final class AsyncGate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextID: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Creates a closed gate.
    package init() {}

    /// Whether the gate is open.
    package var isOpen: Bool { state.withLock { $0.isOpen } }

    /// The number of waiting tasks.
    package var waiting: Int { state.withLock { $0.waiting.count } }

    /// Opens the gate; opening it again has no effect.
    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until the gate is open or this task is cancelled.
    ///
    /// - Returns: Whether the gate is open.
    @discardableResult
    package func wait() async -> Bool {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayPass = state.withLock { state in
                    // A task is marked as cancelled before its handler runs, and the handler needs this lock: either
                    // the mark is seen here, or the handler finds the continuation.
                    if state.isOpen || Task.isCancelled { return true }
                    state.waiting[id] = continuation
                    return false
                }
                if mayPass { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
        }
        return isOpen
    }

    /// Waits until the gate is open, a deadline passes or this task is cancelled.
    ///
    /// - Parameters:
    ///   - deadline: The deadline.
    ///   - time: The clock that it refers to.
    /// - Returns: Whether the gate is open.
    @discardableResult
    package func wait(until deadline: ContinuousClock.Instant, by time: any TimeSource) async -> Bool {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            group.addTask { try? await time.sleep(until: deadline) }
            await group.next()
            group.cancelAll()
        }
        return isOpen
    }
}
