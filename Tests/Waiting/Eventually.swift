import Foundation

/// An error for a condition that never came true.
public struct NeverHappened: Error, CustomStringConvertible {
    /// The condition, and what was seen instead.
    public let description: String
}

/// The maximum wait of a test; much longer than ever needed, so that only what never happens fails.
public let generousLimit = Duration.seconds(120)

/// Waits until a condition is true.
///
/// The only place where tests wait by the machine's clock for something that isn't their subject.
///
/// - Parameters:
///   - what: A description of the condition, for the message.
///   - limit: The maximum wait.
///   - seen: Describes the current state, for the message.
///   - isolation: The actor of the closures.
///   - isSo: The condition; checked every few milliseconds.
/// - Throws: ``NeverHappened`` after the limit, and errors of the condition.
public func eventually(
    _ what: @autoclosure () -> String,
    within limit: Duration = generousLimit,
    seen: () async -> String = { "" },
    isolation: isolated (any Actor)? = #isolation,
    _ isSo: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !isSo() {
        guard ContinuousClock.now < end else {
            let instead = await seen()
            throw NeverHappened(
                description: "\(what()) never came within \(limit)" + (instead.isEmpty ? "" : "; seen: \(instead)")
            )
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// Lets real time pass where a test needs it, for example to kill a process at a random moment or to imitate a slow
/// server.
public func pause(_ length: Duration) async throws { try await Task.sleep(for: length) }

/// Runs blocking work on its own thread, so that the cooperative thread pool stays free.
public func ownThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
    }
}

/// Whether this is a soak run: one test after another, on an otherwise idle machine.
///
/// Only then do comparisons with the machine's clock apply; otherwise the work only has to end.
public let isSoak = ProcessInfo.processInfo.environment["SOAK"] == "1"
