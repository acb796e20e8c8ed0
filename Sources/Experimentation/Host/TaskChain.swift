import Synchronization

/// Does pieces of work one at a time, in the order in which they are added.
package final class TaskChain: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    /// Creates a chain without work.
    package init() {}

    /// The work that was added last, which ends after all work before it; `nil` if there is none yet.
    package var latest: Task<Void, Never>? { last.withLock { $0 } }

    /// Adds work after all work that was added before.
    package func add(_ work: @escaping @Sendable () async -> Void) {
        last.withLock { last in
            last = Task { [before = last] in
                await before?.value
                await work()
            }
        }
    }

    /// Waits until all work is done, including what is added meanwhile.
    package func end() async {
        while let task = latest {
            await task.value
            if task == latest { return }
        }
    }
}
