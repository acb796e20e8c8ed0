/// The reading of what an earlier run stored about a session's user: once, for all callers that need it.
struct Restoration: Sendable {
    private enum Phase: Sendable {
        case due
        case underWay(Task<Void, Never>)
        case done
    }

    private var phase = Phase.due
    private var number: UInt64 = 0

    /// Whether it is known what the store holds; until then, that isn't overwritten.
    var isDone: Bool { if case .done = phase { true } else { false } }

    /// The reading that is under way.
    var task: Task<Void, Never>? { if case .underWay(let task) = phase { task } else { nil } }

    /// Whether a reading is still needed: its user hasn't left or removed what is stored.
    func isCurrent(_ reading: UInt64) -> Bool { reading == number }

    /// Begins a reading, if one is due.
    ///
    /// - Parameter read: Starts the reading with this number.
    mutating func begin(_ read: (UInt64) -> Task<Void, Never>) {
        switch phase {
        case .due:
            number += 1
            phase = .underWay(read(number))
        case .underWay, .done: break
        }
    }

    /// Ends a reading; one that failed is due again.
    mutating func end(_ reading: UInt64, hasFailed: Bool) {
        if isCurrent(reading) { phase = hasFailed ? .due : .done }
    }

    /// Notes that the session has become another user's.
    mutating func startOver() { (phase, number) = (.due, number + 1) }

    /// Notes that nothing is stored any more.
    mutating func skip() { (phase, number) = (.done, number + 1) }
}
