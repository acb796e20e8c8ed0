import AdapterKit
import Experimentation
import Foundation
import HTTPTypes

/// Decides when the server may be asked again; pure, time is passed in.
///
/// After a 429, waits as long as the server says, otherwise a second, doubling up to a minute. After 401 or 403, waits
/// 15 minutes, doubling up to four hours.
///
/// Requests that began before the end of the current wait are one round. Their answers may extend the wait, but only
/// the first doubles it, and none ends it: an answer to an older request says nothing about a newer refusal.
struct OFREPPatience: Sendable {
    private static let firstRefusal = Duration.seconds(900)
    private static let longestRefusal = Duration.seconds(14_400)

    /// The end of the current or last wait, if any.
    private(set) var end: ContinuousClock.Instant?
    private var reason: ExperimentationError?
    private var refusals = 0
    private var complaints = 0

    /// Whether the last round refused the credentials.
    var isRefused: Bool { refusals > 0 }

    /// Returns why the server must not be asked now; `nil` if it may be.
    func objection(at now: ContinuousClock.Instant) -> ExperimentationError? {
        guard let end, let reason, now < end else { return nil }
        let seconds = Int((now.duration(to: end) / .seconds(1)).rounded(.up))
        return ExperimentationError(reason.code, "\(reason.message); it isn't asked again for \(seconds) s")
    }

    /// Updates the wait after an answer.
    ///
    /// - Parameters:
    ///   - reply: The answer.
    ///   - failure: The error it amounts to, if any.
    ///   - start: The instant at which the request began.
    ///   - now: The current instant.
    ///   - date: The current time of day, to resolve a `Retry-After` date.
    mutating func note(
        _ reply: HTTPReply,
        _ failure: ExperimentationError?,
        since start: ContinuousClock.Instant,
        at now: ContinuousClock.Instant,
        date: Date
    ) {
        let isOfSameRound = end.map { start < $0 } ?? false
        let pause: Duration
        switch reply.status {
        case 401, 403:
            (refusals, complaints) = (isOfSameRound ? max(refusals, 1) : refusals + 1, 0)
            pause = Self.doubled(Self.firstRefusal, refusals, atMost: Self.longestRefusal)
        case 429:
            if !isOfSameRound { refusals = 0 }
            complaints = isOfSameRound ? max(complaints, 1) : complaints + 1
            let own = Self.doubled(.seconds(1), complaints, atMost: .seconds(60))
            pause = OFREPErrors.wait(in: reply.response.headerFields, date: date) ?? own
        default:
            if !isOfSameRound { self = OFREPPatience() }
            return
        }
        let later = now.advanced(by: pause)
        if isOfSameRound, let end, later <= end { return }
        (end, reason) = (later, failure)
    }

    private static func doubled(_ first: Duration, _ count: Int, atMost longest: Duration) -> Duration {
        min(first * (1 << min(max(count - 1, 0), 16)), longest)
    }
}
