import Synchronization

/// Denials whose consequences are carried out for callers that don't wait.
final class DenialsUnderWay: Sendable {
    private struct State {
        var last: UInt64 = 0
        var tasks: [UInt64: Task<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    /// Runs the consequences of a denial in a task of their own.
    func carryOut(_ consequences: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            state.last += 1
            state.tasks[state.last] = Task { [number = state.last] in
                await consequences()
                self.state.withLock { $0.tasks[number] = nil }
            }
        }
    }

    /// Waits until the consequences that have begun are carried out.
    func end() async { for task in state.withLock({ Array($0.tasks.values) }) { await task.value } }
}
