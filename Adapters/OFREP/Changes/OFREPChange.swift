/// Why decisions are asked for again.
enum OFREPCause: Sendable, Hashable {
    /// A stream announced a change.
    case event(OFREPEvent)
    /// Changes may have been missed.
    case gap
    /// Changes may have been missed, and no held answer may be confirmed: streams were closed for the background, or an
    /// address of a stream was refused, and a confirmation names no other.
    case renewal

    /// Returns the cause of a question that is also asked for another, later reason.
    func joined(by later: OFREPCause) -> OFREPCause {
        switch (self, later) {
        case (.renewal, _), (_, .renewal): .renewal
        case (_, .event): later
        case (_, .gap): self
        }
    }
}

/// A change that is to be asked for.
struct OFREPChange: Sendable, Hashable {
    /// Increases from 1.
    var number: Int
    var cause: OFREPCause
    /// The number of the last renewal: an answer from before it isn't sent for confirmation.
    var lastRenewal: Int

    /// Returns the change after another one.
    init(_ cause: OFREPCause, after last: OFREPChange?) {
        number = (last?.number ?? 0) + 1
        self.cause = cause
        lastRenewal = cause == .renewal ? number : last?.lastRenewal ?? 0
    }

    /// The event that announced it, if one did.
    var event: OFREPEvent? {
        if case .event(let event) = cause { event } else { nil }
    }
}
