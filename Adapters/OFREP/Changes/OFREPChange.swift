/// Why decisions are asked for again.
struct OFREPCause: Sendable, Hashable {
    /// Changes may have been missed.
    static let gap = OFREPCause()
    /// Changes may have been missed, and no held answer may be confirmed.
    static let renewal = OFREPCause(isRenewal: true)

    /// The event that announced a change, if one did; otherwise changes may have been missed.
    var event: OFREPEvent?
    /// Whether no held answer may be confirmed: streams were closed for the background, or an address of a stream was
    /// refused, and a confirmation names no other.
    var isRenewal = false

    /// A stream announced a change.
    static func event(_ event: OFREPEvent) -> OFREPCause { OFREPCause(event: event) }

    /// Returns the cause of a question that is also asked for another, later reason.
    func joined(by later: OFREPCause) -> OFREPCause {
        OFREPCause(event: later.event ?? event, isRenewal: isRenewal || later.isRenewal)
    }
}

/// A change that is to be asked for.
struct OFREPChange: Sendable {
    /// Increases from 1.
    var number: Int
    var cause: OFREPCause
    /// The number of the last renewal: an answer from before it isn't sent for confirmation.
    private(set) var lastRenewal: Int
    /// The last event, and the number of its change: an answer from before it is asked for because of it.
    private var lastEvent: (number: Int, event: OFREPEvent)?

    /// Returns the change after another one.
    init(_ cause: OFREPCause, after last: OFREPChange?) {
        number = (last?.number ?? 0) + 1
        self.cause = cause
        lastRenewal = cause.isRenewal ? number : last?.lastRenewal ?? 0
        lastEvent = cause.event.map { (number, $0) } ?? last?.lastEvent
    }

    /// The last event that was announced after an answer's change; `nil` if none was.
    func event(since number: Int) -> OFREPEvent? {
        lastEvent.flatMap { $0.number > number ? $0.event : nil }
    }
}
