import Synchronization

/// Runs pieces of work one at a time, in the order they were submitted.
final class Turns: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    /// Does a piece of work once all earlier ones are done.
    func take<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
        let task = last.withLock { last in
            let before = last
            let task = Task {
                await before?.value
                return await work()
            }
            last = Task { _ = await task.value }
            return task
        }
        return await task.value
    }
}
