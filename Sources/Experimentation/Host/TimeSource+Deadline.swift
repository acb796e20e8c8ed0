extension TimeSource {
    /// Runs work in a task of its own, and waits for it until a deadline at most; unfinished work then continues.
    ///
    /// - Returns: Whether it has ended.
    @discardableResult
    package func ends(by deadline: ContinuousClock.Instant, _ work: @escaping @Sendable () async -> Void) async -> Bool
    {
        let isOver = AsyncGate()
        Task {
            await work()
            isOver.open()
        }
        return await isOver.wait(until: deadline, by: self)
    }

    /// Returns the value of work, or `nil` if it takes longer than a time limit: its task is then cancelled, and a late
    /// value ignored.
    ///
    /// The caller's cancellation reaches neither the wait nor the work.
    package func value<Value: Sendable, Problem: Error>(
        within limit: Duration,
        of work: @escaping @Sendable () async throws(Problem) -> Value
    ) async throws(Problem) -> Value? {
        let working = Task { () -> Result<Value, Problem> in
            do throws(Problem) { return .success(try await work()) } catch { return .failure(error) }
        }
        let deadline = instant.advanced(by: limit)
        // Wait in a separate task, which is never cancelled.
        let isInTime = await Task { await ends(by: deadline) { _ = await working.value } }.value
        if isInTime { return try await working.value.get() }
        working.cancel()
        return nil
    }
}
