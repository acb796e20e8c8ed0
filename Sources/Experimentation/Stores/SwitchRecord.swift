/// What is known of a stored kill switch: what the store has, and when a write failed.
struct SwitchRecord: Sendable {
    /// How long a failed write isn't repeated: a vendor's answers come faster than a store recovers.
    private static let patience = Duration.seconds(2)

    /// What the store has; `nil` if that isn't known.
    private var stored: Bool?
    /// The last write, if it failed.
    private var failure: (isOn: Bool, instant: ContinuousClock.Instant)?

    /// Creates a record of what was read, `nil` if it couldn't be.
    init(stored: Bool? = nil) { self.stored = stored }

    /// What remains to be done for a state.
    enum Standing: Sendable, Hashable {
        case stored
        case due
        /// Writing it failed a moment ago.
        case failed
    }

    /// Returns what remains to be done for a state.
    func standing(of isOn: Bool, at instant: ContinuousClock.Instant) -> Standing {
        if let failure, failure.isOn == isOn, failure.instant.duration(to: instant) < Self.patience { return .failed }
        return stored == isOn ? .stored : .due
    }

    /// Notes that a write begins: until it ends, nothing is known.
    mutating func begin() { self = SwitchRecord() }

    /// Notes that a write has ended.
    mutating func end(_ isOn: Bool, hasFailed: Bool, at instant: ContinuousClock.Instant) {
        if hasFailed { failure = (isOn, instant) } else { stored = isOn }
    }
}
