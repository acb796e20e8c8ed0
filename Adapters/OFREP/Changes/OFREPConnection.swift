/// The connection of an event stream.
struct OFREPConnection: Sendable {
    enum Phase: Sendable {
        case opening(since: ContinuousClock.Instant)
        case open(since: ContinuousClock.Instant)
        case waiting(until: ContinuousClock.Instant)
        /// Closed while the application is in the background.
        case resting
        case refused
    }

    /// The changes that may have been missed by the time it opens.
    enum Missed: Sendable {
        /// None that matter: it takes the place of an open one.
        case nothing
        case sinceAnswer
        case sinceBreak
    }

    var phase: Phase
    var failures = 0
    var missed = Missed.sinceAnswer
    /// The stream that takes its place once open, if this one is no longer announced.
    var successor: OFREPStream?

    var isOpen: Bool {
        if case .open = phase { true } else { false }
    }

    /// Whether it isn't to be reopened.
    var isRefused: Bool {
        if case .refused = phase { true } else { false }
    }

    /// Whether it is already closed for the background.
    var isResting: Bool {
        switch phase {
        case .resting, .refused: true
        case .opening, .open, .waiting: false
        }
    }
}
