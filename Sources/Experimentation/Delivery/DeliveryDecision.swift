import Foundation

/// Decides what to do with one event after an attempt: the pure part of delivery.
///
/// The complete table:
///
/// | Verdict | Event | Attempt counted |
/// |---|---|---|
/// | delivered | acknowledged | – |
/// | outage, or none | stays as it is; the round ends, and the next one begins after the pause | no |
/// | failed | returned with a pause of its own; dropped as `exhausted` after the last attempt | yes |
/// | split, alone | dropped as `rejected` | – |
/// | split, among others | tried again in halves, at once | no |
/// | rejected | dropped as `rejected` | – |
/// | stop | stays as it is; nothing is sent until ``RetrySchedule/probe(afterStops:jitter:)``, then one event | no |
enum DeliveryDecision: Equatable {
    case settle(Settlement)
    case splitWithOthers
    /// The event is left as it is: the vendor failed, not the event.
    case stays(DeliveryRound.Failure, asked: Duration?)

    /// Decides what becomes of one event.
    ///
    /// - Parameters:
    ///   - envelope: The event.
    ///   - verdict: The adapter's verdict on it.
    ///   - isAlone: Whether it was sent alone.
    ///   - policy: How many attempts it has.
    ///   - now: The time.
    ///   - jitter: A number from 0 up to, but not including, 1; evaluated only to draw a wait.
    /// - Returns: What to write down, or that the batch is to be halved.
    static func about(
        _ envelope: Envelope,
        verdict: Verdict?,
        isAlone: Bool,
        policy: BatchPolicy,
        now: Date,
        jitter: @autoclosure () -> Double
    ) -> DeliveryDecision {
        func settled(_ outcome: Settlement.Outcome) -> DeliveryDecision {
            .settle(Settlement(of: envelope, outcome))
        }
        switch verdict {
        case .delivered:
            return settled(.delivered)
        case nil:
            return .stays(.outage(.noAnswer), asked: nil)
        case .outage(let after, let reason):
            return .stays(.outage(reason), asked: after.flatMap { RetrySchedule.asked($0) })
        case .failed(let reason):
            let attempts = envelope.attempts + 1
            guard attempts < policy.attempts else { return settled(.dropped(.exhausted, detail: reason)) }
            let wait = RetrySchedule.wait(beforeAttempt: attempts, jitter: jitter())
            return settled(.retry(at: now + wait.seconds, attempts: attempts, reason: reason))
        case .split(let reason):
            return isAlone ? settled(.dropped(.rejected, detail: reason)) : .splitWithOthers
        case .rejected(let reason):
            return settled(.dropped(.rejected, detail: reason))
        case .stop(let error):
            return .stays(.refused(error), asked: nil)
        }
    }

    /// Whether a batch was refused as a whole, so that one event of it may be the cause for all.
    ///
    /// - Parameter verdicts: The verdict on each of its events.
    /// - Returns: Whether it was.
    static func isRefusedAsAWhole(_ verdicts: [Verdict?]) -> Bool {
        guard verdicts.count > 1, let first = verdicts[0], case .failed = first else { return false }
        return verdicts.allSatisfy { $0 == first }
    }
}

/// How long to wait between attempts.
enum RetrySchedule {
    /// The mean of the first wait.
    static let base: Duration = .seconds(1)
    /// The smallest part of its bound that is drawn: repeated draws near zero would retry without pause.
    static let leastShare = 0.05
    /// No wait that a vendor asks for is shorter.
    static let shortest: Duration = .milliseconds(100)
    /// No wait is longer.
    static let longest: Duration = .seconds(300)

    /// The wait before an attempt: drawn from a twentieth of a bound up to the whole, so that clients which failed
    /// together don't come back together; the bound doubles.
    ///
    /// - Parameters:
    ///   - attempt: How many attempts have failed.
    ///   - jitter: A number from 0 up to, but not including, 1.
    /// - Returns: The wait.
    static func wait(beforeAttempt attempt: Int, jitter: Double) -> Duration {
        // Ten doublings exceed the longest wait; more would overflow.
        let bound = min(base * (1 << min(max(attempt, 0), 10)), longest)
        return bound * (jitter.isFinite ? min(max(jitter, leastShare), 1) : 1)
    }

    /// The wait before trying a single event on a vendor that refused everything: about a quarter of an hour, then
    /// twice as long each time, up to about four hours.
    ///
    /// Such a refusal usually lasts until the settings are corrected.
    ///
    /// - Parameters:
    ///   - stops: How often in a row it has refused.
    ///   - jitter: A number from 0 up to, but not including, 1.
    /// - Returns: The wait.
    static func probe(afterStops stops: Int, jitter: Double) -> Duration {
        let wait = Duration.seconds(900) * (1 << min(max(stops - 1, 0), 4))
        return wait * (0.9 + 0.2 * (jitter.isFinite ? min(max(jitter, 0), 1) : 1))
    }

    /// A wait that a vendor asked for, within reason; `nil` for none, as with `Retry-After: 0` or a date that has
    /// passed.
    ///
    /// Without one, the events wait by their own schedule; a vendor that is away and says so each time would otherwise
    /// be asked without pause.
    static func asked(_ wait: Duration) -> Duration? { wait > .zero ? min(max(wait, shortest), longest) : nil }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
