import Experimentation
import Synchronization

/// Runs work that may never end, and stops waiting for it at a deadline.
public enum Bounded {
    /// That the time was up.
    public struct TimeIsUp: Error, CustomStringConvertible {
        /// How long it had.
        public var limit: Duration
        /// What happened, for a person.
        public var description: String { "it did not end within \(limit)" }
    }

    /// Runs work for as long as it may take, and no longer.
    ///
    /// Work that ignores its cancellation is left behind, so that one subject that hangs can't hold up the others.
    ///
    /// - Parameters:
    ///   - limit: How long to wait, in real time.
    ///   - work: The work; its task is cancelled when the time is up.
    /// - Returns: What the work gave.
    /// - Throws: ``TimeIsUp``, or what the work threw.
    public static func run<Value: Sendable>(
        for limit: Duration,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let race = Race<Value>()
        let task = Task {
            do { race.finish(.success(try await work())) } catch { race.finish(.failure(error)) }
        }
        let alarm = Task {
            do { try await Task.sleep(for: limit, clock: .continuous) } catch { return }
            race.finish(.failure(TimeIsUp(limit: limit)))
            task.cancel()
        }
        defer { alarm.cancel() }
        return try await withTaskCancellationHandler {
            try await race.value()
        } onCancel: {
            task.cancel()
            race.finish(.failure(CancellationError()))
        }
    }

    private final class Race<Value: Sendable>: Sendable {
        private struct State {
            var result: Result<Value, any Error>?
            var waiter: CheckedContinuation<Value, any Error>?
        }

        private let state = Mutex(State())

        func finish(_ result: sending Result<Value, any Error>) {
            let result = result
            let waiter = state.withLock { state -> CheckedContinuation<Value, any Error>? in
                guard state.result == nil else { return nil }
                state.result = result
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(with: result)
        }

        func value() async throws -> Value {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Value, any Error>? in
                    if state.result == nil { state.waiter = continuation }
                    return state.result
                }
                if let result { continuation.resume(with: result) }
            }
        }
    }
}
