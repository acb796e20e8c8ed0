import Experimentation

/// What is left when a delivery has ended, and why: the vendor, its pace, or nobody's consent.
struct Remains {
    private let status: OutboxStatus
    private let vendor: String
    private let isCounted: Bool

    /// Takes what waits, for whom, and whether its number hasn't been said yet.
    init(_ status: OutboxStatus, for vendor: String, isCounted: Bool = false) {
        (self.status, self.vendor, self.isCounted) = (status, vendor, isCounted)
    }

    /// What to end with; `nil` if nothing is left.
    var failure: Failure? {
        let waiting = status.deliverable
        if waiting > 0 { return Failure(.unavailable, reason + (isCounted ? "; \(waiting) wait" : "")) }
        guard status.held > 0 else { return nil }
        return Failure(
            .unavailable,
            "\(status.held) events wait for their users' consent, and nothing else does: a line of a user with "
                + "\"consent\": true releases what is held of theirs, false removes it"
        )
    }

    /// Why most of what waits does.
    private var reason: String {
        let most = status.failures.max { ($0.value, $1.key) < ($1.value, $0.key) }
        switch most?.key {
        case nil where status.nextAttempt != nil:
            return "\(vendor) asks for patience: a longer --deadline, or xp outbox flush later, delivers the rest"
        case nil:
            return "\(vendor) takes the events at its own pace: a longer --deadline, or xp outbox flush later, "
                + "delivers the rest"
        case "outage", "no answer":
            return "\(vendor) doesn't take the events: it can't be reached, or gives no answer that counts"
        case .some(let reason): return "\(vendor) doesn't take the events: \(reason)"
        }
    }
}
