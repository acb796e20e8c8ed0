import Foundation

/// Time, as everything here reads it: injected, so that tests need not wait.
public protocol TimeSource: Sendable {
    /// The time of day, for what is shown, stored and sent.
    var now: Date { get }
    /// A moment that only ever grows, for durations and deadlines.
    var instant: ContinuousClock.Instant { get }
    /// Waits until a moment.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    func sleep(until deadline: ContinuousClock.Instant) async throws
}

extension TimeSource {
    /// Waits for a while.
    public func sleep(for duration: Duration) async throws {
        try await sleep(until: instant.advanced(by: duration))
    }
}

/// The machine's own clocks.
public struct SystemTime: TimeSource {
    /// Creates a time source.
    public init() {}
    /// The time of day.
    public var now: Date { Date() }
    /// The machine's continuous clock.
    public var instant: ContinuousClock.Instant { ContinuousClock.now }
    /// Waits until a moment.
    public func sleep(until deadline: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: deadline, clock: .continuous)
    }
}
