import Synchronization

/// The entries that join a transaction of events while it is under way.
final class ArrivingEntries: Sendable {
    private let intake: Intake
    private let most: Int
    private let taken = Mutex<[Intake.Entry]>([])

    init(in intake: Intake, atMost most: Int) {
        self.intake = intake
        self.most = most
    }

    /// The entries that have joined.
    var entries: [Intake.Entry] { taken.withLock { $0 } }

    /// Their events.
    var events: [NewEvent] { entries.compactMap(\.statement.event) }

    /// Returns the events that have joined after the first ones, and takes new ones if there are no others.
    ///
    /// The transaction may run twice: what has joined it stays in it.
    func events(after count: Int) -> [NewEvent] {
        taken.withLock { taken in
            if count >= taken.count { taken += intake.takeArriving(atMost: most - taken.count) }
            return taken.dropFirst(count).compactMap(\.statement.event)
        }
    }
}

extension Intake {
    /// Takes the events at the front of the line that need nothing but to be stored.
    fileprivate func takeArriving(atMost most: Int) -> [Entry] {
        // An owed denial is settled before an event of its user, outside a transaction.
        guard most > 0, owed.areNone else { return [] }
        return state.withLock { $0.line.take(atMost: most) { $0.statement.event?.grantsConsent == false } }
    }
}
