/// The time at which waiting ends.
struct Deadline: Sendable {
    let patience: Duration
    private let end: ContinuousClock.Instant

    init(_ patience: Duration) {
        self.patience = patience
        end = ContinuousClock.now.advanced(by: patience)
    }

    private init(_ patience: Duration, end: ContinuousClock.Instant) {
        (self.patience, self.end) = (patience, end)
    }

    /// The deadline of the first of several attempts that share the remaining time.
    func share(of count: Int) -> Deadline {
        guard count > 1 else { return self }
        let now = ContinuousClock.now
        return Deadline(patience, end: now.advanced(by: now.duration(to: end) / count))
    }

    /// The earlier of this deadline and the one after a duration from now.
    func atMost(_ patience: Duration) -> Deadline {
        let other = Deadline(patience)
        return other.end < end ? other : self
    }

    var isOver: Bool { ContinuousClock.now >= end }

    /// The remaining time, for `poll`.
    var milliseconds: Int32 {
        let left = ContinuousClock.now.duration(to: end)
        return Int32(clamping: max(0, Int((left / .milliseconds(1)).rounded(.up))))
    }
}
