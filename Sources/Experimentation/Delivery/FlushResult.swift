/// What a flush left.
public enum FlushResult: Sendable, Hashable {
    /// Nothing waits: everything was delivered, dropped or removed.
    case delivered
    /// Everything that waits is held until its users consent.
    ///
    /// - Parameter events: How many events are held.
    case held(events: Int)
    /// Something still waits for delivery.
    ///
    /// - Parameters:
    ///   - events: How many events wait.
    ///   - held: How many more are held until their users consent.
    case waits(events: Int, held: Int)
    /// The store didn't report in time what is left.
    case unknown

    init(_ status: OutboxStatus) {
        self =
            switch (status.deliverable, status.held) {
            case (0, 0): .delivered
            case (0, let held): .held(events: held)
            case (let waiting, let held): .waits(events: waiting, held: held)
            }
    }

    /// Whether nothing deliverable is left; events held for consent aren't deliverable.
    public var isDone: Bool {
        switch self {
        case .delivered, .held: true
        case .waits, .unknown: false
        }
    }
}
