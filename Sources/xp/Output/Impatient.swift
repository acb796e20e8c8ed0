import Experimentation

/// Waits with a limit for tasks that may take longer.
enum Impatient {
    /// Waits until the task ends, a signal arrives or time runs out; doesn't cancel the task.
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

    /// Returns a task's value unless it takes too long after a signal; doesn't cancel the task.
    ///
    /// - Parameters:
    ///   - task: The task.
    ///   - signals: The signals that start the limit.
    ///   - limit: How long to wait after a signal.
    /// - Returns: The value; `nil` if it didn't arrive in time.
    /// - Throws: The task's error.
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
