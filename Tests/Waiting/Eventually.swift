import Foundation

/// Something that a test waited for and that never came.
public struct NeverHappened: Error, CustomStringConvertible {
    /// What was waited for, and what was seen instead.
    public let description: String
}

/// How long a test waits for something at most: far longer than it ever takes, so that only what never comes fails.
public let generousLimit = Duration.seconds(120)

/// Waits until something is so; returns at once when it is.
///
/// The only place where tests wait by the machine's clock for something that isn't their subject.
///
/// - Parameters:
///   - what: What is waited for, for the message.
///   - limit: How long at most.
///   - seen: What there is instead, for the message.
///   - isolation: Whose state the conditions see.
///   - isSo: Whether it is so; asked every few milliseconds.
/// - Throws: ``NeverHappened`` when it wasn't so within the limit, and what the condition throws.
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

/// Lets the machine's clock go on, where that is what a test is about: a process that is killed at any moment, a server
/// that is slow.
public func pause(_ length: Duration) async throws { try await Task.sleep(for: length) }

/// Runs work that blocks on a thread of its own, so that the few threads that all tasks share stay free.
public func ownThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
    }
}

/// Whether the full figures are asked for: one test after another, on a machine that does nothing else.
///
/// What compares with the machine's clock holds its bound there alone; elsewhere it only has to end.
public let isSoak = ProcessInfo.processInfo.environment["SOAK"] == "1"
