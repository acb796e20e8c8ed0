import Experimentation

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
        let race = AsyncRace<Result<Value, any Error>>()
        let task = Task {
            do { race.finish(with: .success(try await work())) } catch { race.finish(with: .failure(error)) }
        }
        let alarm = Task {
            do { try await Task.sleep(for: limit, clock: .continuous) } catch { return }
            race.finish(with: .failure(TimeIsUp(limit: limit)))
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
