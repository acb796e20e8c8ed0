import Synchronization

/// Keeps the first value that arrives, and returns it to all waiting callers.
package final class AsyncRace<Value: Sendable>: Sendable {
    private let first = Mutex<Value?>(nil)
    private let gate = AsyncGate()

    /// Creates a race without a winner.
    package init() {}

    /// Enters a value; only the first counts.
    package func finish(with value: Value) {
        first.withLock { first in
            if first == nil { first = value }
        }
        gate.open()
    }

    /// Waits for the first value.
    ///
    /// - Returns: The value; `nil` if this task is cancelled before there is one.
    package func winner() async -> Value? {
        await gate.wait()
        return first.withLock { $0 }
    }
}
