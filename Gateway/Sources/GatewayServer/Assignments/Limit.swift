import Experimentation
import Synchronization

/// Waits for a result up to a limit; the work continues in the background after that.
enum Limit {
    static func value<Value: Sendable>(
        within limit: Duration,
        by time: any TimeSource,
        _ work: @escaping @Sendable () async -> Value
    ) async -> Value? {
        await withCheckedContinuation { continuation in
            let once = Once(continuation)
            let timer = Task {
                guard (try? await time.sleep(for: limit)) != nil else { return }
                once.resume(nil)
            }
            Task {
                let value = await work()
                once.resume(value)
                timer.cancel()
            }
        }
    }

    /// A continuation that only the first caller resumes.
    private final class Once<Value: Sendable>: Sendable {
        private let continuation: Mutex<CheckedContinuation<Value?, Never>?>

        init(_ continuation: CheckedContinuation<Value?, Never>) { self.continuation = Mutex(continuation) }

        func resume(_ value: Value?) {
            let taken = continuation.withLock { continuation in
                defer { continuation = nil }
                return continuation
            }
            taken?.resume(returning: value)
        }
    }
}
