import Foundation

/// An error for a condition that never came true.
public struct NeverHappened: Error, CustomStringConvertible {
    /// The condition, and how long it was waited for.
    public let description: String

    /// Creates an error.
    public init(description: String) { self.description = description }
}

/// Waits until a condition is true, checking it every few milliseconds.
///
/// - Throws: ``NeverHappened`` after far longer than it should take, and errors of the condition.
public func eventually(
    _ what: String,
    within limit: Duration = .seconds(90),
    isolation: isolated (any Actor)? = #isolation,
    _ isSo: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !isSo() {
        guard ContinuousClock.now < end else { throw NeverHappened(description: "\(what) never came within \(limit)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// Lets real time pass where a test needs it: while a database is away, or a balancer looks at its instances.
public func pause(_ length: Duration) async throws { try await Task.sleep(for: length) }

/// Runs blocking work on its own thread, so that the cooperative thread pool stays free.
public func ownThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    let result = await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: Result(catching: work)) }
    }
    return try result.get()
}
