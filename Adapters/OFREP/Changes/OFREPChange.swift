/// Why decisions are asked for again.
struct OFREPCause: Sendable, Hashable {
    /// Changes may have been missed.
    static let gap = OFREPCause()
    /// Changes may have been missed, and no held answer may be confirmed.
    static let renewal = OFREPCause(isRenewal: true)

    /// The event that announced a change, if one did; otherwise changes may have been missed.
    var event: OFREPEvent?
    /// Whether no held answer may be confirmed: streams were closed for the background, or a stream's address was
    /// refused, and a confirmation names no new address.
    var isRenewal = false

    /// The cause of a change that a stream announced.
    static func event(_ event: OFREPEvent) -> OFREPCause { OFREPCause(event: event) }

    /// Returns the cause of a question that also has another, later reason.
    func joined(by later: OFREPCause) -> OFREPCause {
        let event = later.event.map { self.event?.joined(by: $0) ?? $0 } ?? event
        return OFREPCause(event: event, isRenewal: isRenewal || later.isRenewal)
    }
}

/// A change after which decisions must be asked for again.
struct OFREPChange: Sendable {
    /// Increases from 1.
    let number: Int
    /// The number of the last renewal: an answer from before it isn't sent for confirmation.
    let lastRenewal: Int
    /// The last validator and the last date in an event, each with the number of its change: the cause of questions
    /// whose answer is older.
    private let lastTag: (number: Int, text: String)?
    private let lastDate: (number: Int, text: String)?

    /// Creates the change that follows another one.
    init(_ cause: OFREPCause, after last: OFREPChange?) {
        let number = (last?.number ?? 0) + 1
        self.number = number
        lastRenewal = cause.isRenewal ? number : last?.lastRenewal ?? 0
        lastTag = cause.event?.etag.map { (number, $0) } ?? last?.lastTag
        lastDate = cause.event?.lastModified.map { (number, $0) } ?? last?.lastDate
    }

    /// Returns the configuration that events named after the change that an answer reflects; `nil` if none did.
    func event(since number: Int) -> OFREPEvent? {
        func text(_ member: (number: Int, text: String)?) -> String? {
            member.flatMap { $0.number > number ? $0.text : nil }
        }
        let event = OFREPEvent(etag: text(lastTag), lastModified: text(lastDate))
        return event == OFREPEvent() ? nil : event
    }
}
