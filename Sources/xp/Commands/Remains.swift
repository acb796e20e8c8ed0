import ComparisonKit
import Experimentation

/// What remains after a delivery, and why: the vendor, its rate limit, or missing consent.
struct Remains {
    /// The waiting events.
    var status: OutboxStatus
    /// The vendor's name.
    var vendor: String
    /// The number of events delivered in this run.
    var delivered: Int
    /// The adapter's rate limit.
    var pace: BatchPolicy.Pace?
    /// Whether the message should include the number of waiting events.
    var isCounted = false

    private static let later = ": a longer --deadline, or xp outbox flush later, delivers the rest"

    /// The failure to exit with; `nil` if nothing remains.
    var failure: Failure? {
        let waiting = status.deliverable
        if waiting > 0 {
            return Failure(.unavailable, reason + (isCounted ? "; " + waiting.of("waits", "wait") : ""))
        }
        guard status.held > 0 else { return nil }
        let wait = status.held.of("event waits for its user's", "events wait for their users'")
        return Failure(
            .unavailable,
            "\(wait) consent; nothing else waits. A line for a user with "
                + "\"consent\": true releases their held events, false removes them"
        )
    }

    /// The reason that most waiting events share.
    private var reason: String {
        let most = status.failures.max { ($0.value, $1.key) < ($1.value, $0.key) }
        switch most.map({ OutageReason(rawValue: $0.key) }) {
        case nil where status.nextAttempt != nil, .patience: return "\(vendor) asks for patience" + Self.later
        case .pace: return keepsPace
        case nil where delivered >= pace?.requests ?? .max: return keepsPace
        case .interrupted,
            nil where status.leased > 0:
            return "\(vendor) hasn't answered yet" + Self.later
        case nil: return "there was no time to deliver everything to \(vendor)" + Self.later
        case .unreachable: return "\(vendor) doesn't take the events: it can't be reached"
        case .timeout: return "\(vendor) doesn't take the events: it gives no answer in time"
        case .noAnswer: return "\(vendor) doesn't take the events: its answers can't be used"
        case .some(let reason): return "\(vendor) doesn't take the events: \(reason)"
        }
    }

    private var keepsPace: String {
        let limit = pace.map { " (\($0.requests) in \($0.interval))" } ?? ""
        return "\(vendor)'s limit of requests\(limit) was reached" + Self.later
    }
}
