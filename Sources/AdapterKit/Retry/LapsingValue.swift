import Experimentation
import Synchronization

/// A vendor's value that is valid for a while: fetched when it is needed and has lapsed, by one caller at a time.
///
/// If a fetch fails, a known value stays, and isn't fetched again before a pause is over. While no value is known, each
/// caller fetches, and should have a backoff of its own.
package final class LapsingValue<Value: Sendable>: Sendable {
    /// Asks the vendor; returns the value and how long it is valid, or `nil` for an answer without one.
    package typealias Fetch = @Sendable () async throws(ExperimentationError) -> (value: Value, lifetime: Duration)?

    private let pause: Duration
    private let time: any TimeSource
    private let fetch: Fetch
    private let state = Mutex<(known: Value?, until: ContinuousClock.Instant?)>((nil, nil))
    private let turn = AsyncSemaphore(limit: 1)

    /// Creates a value that isn't known yet.
    ///
    /// - Parameters:
    ///   - pause: How long a known value stays after a fetch that failed.
    ///   - time: The clock.
    ///   - fetch: Asks the vendor.
    package init(pause: Duration, by time: any TimeSource, _ fetch: @escaping Fetch) {
        self.pause = pause
        self.time = time
        self.fetch = fetch
    }

    /// The last value, whether it has lapsed or not; `nil` before the first one.
    package var known: Value? { state.withLock(\.known) }

    /// How long the value is still valid; `nil` once it has lapsed.
    package var rest: Duration? {
        let now = time.instant
        return state.withLock(\.until).flatMap { now < $0 ? now.duration(to: $0) : nil }
    }

    /// Returns the value, fetched if it has lapsed; it stays if that fails, and if this task is cancelled.
    package func current() async -> Value? {
        guard (try? await turn.enter()) != nil else { return known }
        defer { turn.leave() }
        if rest == nil { await renew() }
        return known
    }

    private func renew() async {
        let now = time.instant
        do throws(ExperimentationError) {
            guard let (value, lifetime) = try await fetch() else { return keep() }
            state.withLock { $0 = (value, now.advanced(by: lifetime)) }
        } catch {
            if error.code != .cancelled { keep() }
        }
    }

    private func keep() {
        let until = time.instant.advanced(by: pause)
        state.withLock { if $0.known != nil { $0.until = until } }
    }
}
