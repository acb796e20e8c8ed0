extension AsyncSemaphore {
    /// Waits to be admitted; every successful call must be followed by one of ``leave()``.
    ///
    /// - Throws: ``ErrorCode/cancelled`` if the task is cancelled before its turn.
    package func take() async throws(ExperimentationError) {
        do {
            try await enter()
        } catch {
            throw ExperimentationError(.cancelled, "cancelled while waiting for its turn")
        }
    }

    /// Does work in this task's turn, on behalf of all callers that wait for their turn as well.
    ///
    /// A cancelled caller stops waiting at once. Work that has begun is cancelled with its caller only if no other
    /// waits: others may want its outcome. It keeps the turn until it ends.
    ///
    /// - Throws: The work's error; ``ErrorCode/cancelled`` if this task is cancelled first.
    package func runShared<Value: Sendable>(
        _ work: @escaping @Sendable () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        try await take()
        let race = AsyncRace<Result<Value, ExperimentationError>>()
        let task = Task {
            let result: Result<Value, ExperimentationError>
            do throws(ExperimentationError) {
                result = .success(try await work())
            } catch {
                result = .failure(error)
            }
            race.finish(with: result)
            self.leave()
        }
        if let result = await race.winner() { return try result.get() }
        if waiting == 0 { task.cancel() }
        throw ExperimentationError(.cancelled, "The task was cancelled.")
    }
}
