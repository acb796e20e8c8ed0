import Synchronization

/// Admits a limited number of tasks at a time, in the order in which they arrive.
///
/// A cancelled task leaves the queue.
package final class AsyncSemaphore: Sendable {
    private struct Waiter {
        var id: UInt64
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var limit: Int
        var admitted = 0
        var waiting: [Waiter] = []
        var nextID: UInt64 = 0

        /// Removes and returns the waiters that may enter now.
        mutating func admit() -> [Waiter] {
            let count = min(max(0, limit - admitted), waiting.count)
            defer { waiting.removeFirst(count) }
            admitted += count
            return Array(waiting.prefix(count))
        }
    }

    private let state: Mutex<State>

    /// Creates a semaphore.
    ///
    /// - Parameter limit: How many tasks to admit at a time.
    package init(limit: Int) { state = Mutex(State(limit: limit)) }

    /// The number of waiting tasks.
    package var waiting: Int { state.withLock { $0.waiting.count } }

    /// Changes how many tasks to admit at a time.
    package func setLimit(_ limit: Int) {
        let admitted = state.withLock { state in
            state.limit = limit
            return state.admit()
        }
        for waiter in admitted { waiter.continuation.resume(returning: true) }
    }

    /// Waits to be admitted; every successful call must be followed by one of ``leave()``.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before its turn.
    package func enter() async throws(CancellationError) {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let isAdmitted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    // As in AsyncGate: the cancellation mark is set before its handler takes this lock.
                    if Task.isCancelled { return false }
                    if state.waiting.isEmpty, state.admitted < state.limit {
                        state.admitted += 1
                        return true
                    }
                    state.waiting.append(Waiter(id: id, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: false)
        }
        guard isAdmitted else { throw CancellationError() }
    }

    /// Makes room for the next task.
    package func leave() {
        let admitted = state.withLock { state in
            state.admitted -= 1
            return state.admit()
        }
        for waiter in admitted { waiter.continuation.resume(returning: true) }
    }

    /// Runs an action once it is admitted, in a task of its own.
    ///
    /// The caller's cancellation reaches neither the wait nor the action, for which others may wait too.
    package func run<Value: Sendable, Thrown: Error>(
        _ action: @escaping @Sendable () async throws(Thrown) -> Value
    ) async throws(Thrown) -> Value {
        let result = await Task { () -> Result<Value, Thrown> in
            // This task is never cancelled, so it is always admitted.
            try? await enter()
            defer { leave() }
            do throws(Thrown) { return .success(try await action()) } catch { return .failure(error) }
        }.value
        return try result.get()
    }
}
