import Dispatch

/// Runs work that computes for seconds on a thread of its own.
///
/// The cooperative pool has as many threads as there are cores. Two tests that compute there without a pause keep every
/// other test's tasks waiting, so that requests with a deadline fail on a busy machine.
public func besideThePool<Value>(
    isolation: isolated (any Actor)? = #isolation,
    _ work: () async throws -> Value
) async rethrows -> Value {
    try await withTaskExecutorPreference(OwnThreadExecutor(), isolation: isolation, operation: work)
}

/// An executor with a thread of its own: Dispatch gives serial queues threads beyond those of the pool.
final class OwnThreadExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "beside-the-pool")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
