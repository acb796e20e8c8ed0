import Experimentation
import Synchronization

/// Waits briefly for new rules while there are older ones; all callers that wait at the same time share one wait.
final class RulesWait: Sendable {
    /// How long the first caller waits; later ones wait for the rest of that time.
    private static let limit = Duration.seconds(2)

    private let time: any TimeSource
    private let begin = Mutex<ContinuousClock.Instant?>(nil)

    /// Creates a wait that hasn't begun.
    init(by time: any TimeSource) { self.time = time }

    /// Waits for a result.
    ///
    /// - Parameter work: Fetches the rules and decides; continues after the time is over.
    /// - Returns: The result; `nil` if the time is over before there is one.
    func value<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value? {
        let now = time.instant
        let begin = begin.withLock { begin in
            begin = begin ?? now
            return begin ?? now
        }
        let rest = Self.limit - begin.duration(to: now)
        guard rest > .zero else { return nil }
        return await Limit.value(within: rest, by: time) { [self] in
            let value = await work()
            self.begin.withLock { $0 = nil }
            return value
        }
    }
}
