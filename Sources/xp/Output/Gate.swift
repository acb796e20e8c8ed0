import Synchronization

/// Something that is closed until it is opened, once; many may wait.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var gone: Set<UInt64> = []
        var nextID: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Whether it is open.
    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Opens it and lets all through.
    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until it is open, or until the task is cancelled.
    func wait() async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isOpen || state.gone.remove(id) != nil { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                if let waiter = state.waiters.removeValue(forKey: id) {
                    return waiter as CheckedContinuation<Void, Never>?
                }
                state.gone.insert(id)
                return nil
            }
            waiter?.resume()
        }
        state.withLock { _ = $0.gone.remove(id) }
    }
}

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
        let gate = Gate()
        let end = Gate()
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
