import Experimentation

/// Work that may be waited for less long than it takes.
enum Impatient {
    /// Waits for a task until it ends, a signal comes or the time is up, whichever is first; the task goes on.
    ///
    /// - Returns: Whether the task has ended.
    @discardableResult
    static func wait<Value: Sendable>(
        for task: Task<Value, any Error>,
        unless signals: Signals? = nil,
        atMost limit: Duration? = nil
    ) async -> Bool {
        let gate = AsyncGate()
        let end = AsyncGate()
        let ending = Task {
            _ = await task.result
            end.open()
            gate.open()
        }
        let signal = Task {
            guard let signals else { return }
            await signals.wait()
            gate.open()
        }
        let alarm = Task {
            guard let limit else { return }
            do { try await Task.sleep(for: limit) } catch { return }
            gate.open()
        }
        await gate.wait()
        ending.cancel()
        signal.cancel()
        alarm.cancel()
        return end.isOpen
    }

    /// What a task gives, if it does so before a signal comes or a little later; the task goes on.
    ///
    /// - Parameters:
    ///   - task: What to wait for.
    ///   - signals: What makes the wait short.
    ///   - limit: How long to wait after a signal.
    /// - Returns: The value; `nil` if it didn't come in time.
    /// - Throws: What the task throws.
    static func value<Value: Sendable>(
        of task: Task<Value, any Error>,
        unless signals: Signals,
        orLater limit: Duration
    ) async throws -> Value? {
        var isThere = await wait(for: task, unless: signals)
        if !isThere { isThere = await wait(for: task, atMost: limit) }
        return isThere ? try await task.value : nil
    }
}
