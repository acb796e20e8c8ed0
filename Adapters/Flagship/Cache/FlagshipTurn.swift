import Experimentation

/// Runs actions one at a time, each whether or not its caller is cancelled.
struct FlagshipTurn: Sendable {
    private let semaphore = AsyncSemaphore(limit: 1)

    /// Runs an action when no other one is running, and waits for it.
    func take(_ action: @escaping @Sendable () async -> Void) async {
        await Task {
            // This task is never cancelled, so it is always admitted.
            try? await semaphore.enter()
            defer { semaphore.leave() }
            await action()
        }.value
    }
}
