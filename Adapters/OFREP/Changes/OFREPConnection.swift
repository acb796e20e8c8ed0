/// The connection of an event stream.
struct OFREPConnection: Sendable {
    enum Phase: Sendable, Equatable {
        case opening(since: ContinuousClock.Instant)
        case open(since: ContinuousClock.Instant)
        case waiting(until: ContinuousClock.Instant)
        /// Closed while the application is in the background.
        case resting
        case refused
    }

    /// How long opening may take.
    private static let patience = Duration.seconds(30)
    /// How long it must stay open before its failures are reset.
    private static let steady = Duration.seconds(5)
    /// The maximum wait before it is reopened, unless the server asks for a longer one.
    private static let longestWait = Duration.seconds(60)

    var phase: Phase
    private var failures = 0
    /// Whether it has broken while it was open.
    private(set) var wasOpen = false

    init(phase: Phase) { self.phase = phase }

    /// When its opening will have taken too long, or when to reopen it.
    var due: ContinuousClock.Instant? {
        switch phase {
        case .opening(let since): since.advanced(by: Self.patience)
        case .waiting(let until): until
        case .open, .resting, .refused: nil
        }
    }

    var isOpen: Bool {
        if case .open = phase { true } else { false }
    }

    /// Whether it is open, or can't be opened any more.
    var isSettled: Bool { isOpen || phase == .refused }

    /// Whether it is closed until further notice.
    var isClosed: Bool { phase == .resting || phase == .refused }

    /// Records that it broke, and waits before it is reopened, at least as long as the server asked.
    mutating func noteBreak(at now: ContinuousClock.Instant, waiting asked: Duration?, jitter: Double) {
        if case .open(let since) = phase {
            wasOpen = true
            if since.duration(to: now) >= Self.steady { failures = 0 }
        }
        failures += 1
        phase = .waiting(until: now.advanced(by: max(asked ?? .zero, Self.wait(after: failures, jitter: jitter))))
    }

    /// Returns how long to wait after a number of failures in succession.
    ///
    /// - Parameters:
    ///   - failures: The number, at least 1.
    ///   - jitter: A random number in 0...1.
    /// - Returns: The wait; half of it is random, so that clients that lost the same server don't reconnect together.
    static func wait(after failures: Int, jitter: Double) -> Duration {
        min(.seconds(1) * (1 << min(failures - 1, 6)), longestWait) * (0.5 + 0.5 * jitter)
    }
}
