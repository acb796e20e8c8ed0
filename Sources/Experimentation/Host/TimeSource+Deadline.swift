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
}
