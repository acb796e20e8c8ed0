import AdapterKit
import Experimentation
import Foundation
import HTTPTypes

/// When the server may be asked again: pure, time comes in from outside.
///
/// After a 429 that is the moment that the server names, or, if it names none, a second, then two, up to a minute. Credentials
/// that are refused stop the questions for a quarter of an hour, then for twice as long each time up to four hours.
struct OFREPPatience: Sendable {
    private static let firstRefusal = Duration.seconds(900)
    private static let longestRefusal = Duration.seconds(14_400)

    private var until: ContinuousClock.Instant?
    private var reason: ExperimentationError?
    private var refusals = 0
    private var complaints = 0

    /// Whether the server's last word was that it doesn't let this application in.
    var isRefused: Bool { refusals > 0 }

    /// Why not to ask at a moment; `nil` if nothing speaks against it.
    func objection(at now: ContinuousClock.Instant) -> ExperimentationError? {
        guard let until, let reason, now < until else { return nil }
        let seconds = Int((now.duration(to: until) / .seconds(1)).rounded(.up))
        return ExperimentationError(reason.code, "\(reason.message); it isn't asked again for \(seconds) s")
    }

    /// Takes account of an answer.
    ///
    /// - Parameters:
    ///   - reply: The answer.
    ///   - failure: Why it isn't good, if it isn't.
    ///   - now: The moment.
    ///   - date: The time of day, for a server that names a date.
    mutating func note(
        _ reply: HTTPReply,
        _ failure: ExperimentationError?,
        at now: ContinuousClock.Instant,
        date: Date
    ) {
        let pause: Duration
        switch reply.status {
        case 401, 403:
            (refusals, complaints) = (refusals + 1, 0)
            pause = Self.doubled(Self.firstRefusal, refusals, atMost: Self.longestRefusal)
        case 429:
            (refusals, complaints) = (0, complaints + 1)
            let own = Self.doubled(.seconds(1), complaints, atMost: .seconds(60))
            pause = OFREPErrors.wait(in: reply.response.headerFields, date: date) ?? own
        default:
            self = OFREPPatience()
            return
        }
        until = now.advanced(by: pause)
        reason = failure
    }

    private static func doubled(_ first: Duration, _ count: Int, atMost longest: Duration) -> Duration {
        min(first * (1 << min(max(count - 1, 0), 16)), longest)
    }
}
