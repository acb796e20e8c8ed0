import Foundation

/// The clock that all code here reads: injected, so that tests need not wait.
public protocol TimeSource: Sendable {
    /// The time of day, to display, store and send.
    var now: Date { get }
    /// The monotonic time, for durations and deadlines.
    var instant: ContinuousClock.Instant { get }
    /// Waits until a deadline.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    func sleep(until deadline: ContinuousClock.Instant) async throws
}

extension TimeSource {
    /// Waits for a duration.
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
    /// Waits until a deadline.
    public func sleep(until deadline: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: deadline, clock: .continuous)
    }
}
