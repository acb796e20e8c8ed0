import Experimentation

/// Runs work that may never end, and stops waiting at a deadline.
public enum Bounded {
    /// The error thrown when the deadline has passed.
    public struct TimeIsUp: Error, CustomStringConvertible {
        /// The time that was allowed.
        public var limit: Duration
        /// The error as a sentence.
        public var description: String { "it did not end within \(limit)" }
    }

    /// The maximum number of limits that work gets while it advances.
    public static let mostLimits = 4

    /// Runs work, waiting no longer than a limit.
    ///
    /// Work that ignores its cancellation is abandoned, so that one hanging subject can't block the others.
    ///
    /// - Parameters:
    ///   - limit: The maximum time to wait, in real time.
    ///   - progress: How far the work has come; while that changes from one limit to the next, the work gets another
    ///     limit, up to ``mostLimits`` altogether.
    ///   - work: The work; its task is cancelled at the limit.
    /// - Returns: The work's result.
    /// - Throws: ``TimeIsUp``, or what the work threw.
    public static func run<Value: Sendable>(
        for limit: Duration,
        while progress: @escaping @Sendable () -> Int? = { nil },
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let race = AsyncRace<Result<Value, any Error>>()
        let task = Task {
            do { race.finish(with: .success(try await work())) } catch { race.finish(with: .failure(error)) }
        }
        let alarm = Task {
            var (waits, seen, isAdvancing) = (0, progress(), true)
            while isAdvancing, waits < mostLimits {
                do { try await Task.sleep(for: limit, clock: .continuous) } catch { return }
                waits += 1
                let now = progress()
                (isAdvancing, seen) = (now != seen, now)
            }
            race.finish(with: .failure(TimeIsUp(limit: limit * waits)))
            task.cancel()
        }
        defer { alarm.cancel() }
        return try await withTaskCancellationHandler {
            guard let result = await race.winner() else { throw CancellationError() }
            return try result.get()
        } onCancel: {
            task.cancel()
        }
    }
}
