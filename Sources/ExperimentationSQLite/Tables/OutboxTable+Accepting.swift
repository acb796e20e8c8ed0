@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

/// An event in its stored form, or the consent that comes with an event that can't be stored.
struct StoredEvent: Sendable {
    var user: String
    var priority: Int
    /// Whether the event is kept on a denial, as only the consent signal is.
    var isKept: Bool
    var date: Double
    var body: [UInt8]
    /// None if only the consent counts.
    var deliveries: [NewEvent.Delivery]
    var grantsConsent: Bool

    /// Encodes an event in its stored form.
    ///
    /// - Throws: ``ErrorCode/tooLarge``, ``ErrorCode/invalidArgument``.
    init(_ event: NewEvent, limit: Int) throws(ExperimentationError) {
        if event.deliveries.isEmpty { throw .owedToNobody }
        let envelope = event.envelope
        user = envelope.identity.id
        priority = envelope.event.priority.rawValue
        isKept = envelope.event.isConsentSignal
        date = envelope.date.timeIntervalSince1970
        body = try event.stored(limit: limit)
        deliveries = event.deliveries
        grantsConsent = event.grantsConsent
    }

    /// Creates a user's consent without the event.
    init(consentOf user: String) {
        self.user = user
        (priority, isKept, date, body, deliveries, grantsConsent) = (0, false, 0, [], [], true)
    }
}

/// Events in their stored form, and why the others have none.
struct EncodedEvents: Sendable {
    private(set) var stored: [StoredEvent] = []
    /// The place of each of them among the events.
    private var places: [Int] = []
    /// For each event, why it can't be stored.
    private(set) var refusals: [ExperimentationError?]

    /// Encodes events.
    init(_ events: [NewEvent], limit: Int) {
        refusals = [ExperimentationError?](repeating: nil, count: events.count)
        stored.reserveCapacity(events.count)
        places.reserveCapacity(events.count)
        for (index, event) in events.enumerated() {
            do throws(ExperimentationError) {
                stored.append(try StoredEvent(event, limit: limit))
            } catch {
                refusals[index] = error
                guard event.grantsConsent else { continue }
                stored.append(StoredEvent(consentOf: event.envelope.identity.id))
            }
            places.append(index)
        }
    }

    /// Adds the refusals of those that weren't accepted because of their users' denials.
    func refusals(accepted: [Bool]) -> [ExperimentationError?] {
        var refusals = refusals
        for (place, isAccepted) in zip(places, accepted) where !isAccepted && refusals[place] == nil {
            refusals[place] = .consentDenied
        }
        return refusals
    }
}

extension OutboxTable {
    /// Accepts events and makes room for them.
    ///
    /// - Returns: For each, whether it was accepted; an event isn't if its user denies consent, nor is consent without
    ///   an event.
    mutating func append(_ events: [StoredEvent], now: Date, _ database: Database) throws -> [Bool] {
        var written = 0
        var accepted: [Bool] = []
        accepted.reserveCapacity(events.count)
        let row = try HotStatement(
            "INSERT INTO event (sequence, priority, date, owed, kept, user, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
            database
        )
        for (index, event) in events.enumerated() {
            if event.grantsConsent { _ = try grant(event.user, database) }
            let isAccepted = try !event.deliveries.isEmpty && (event.isKept || !isDenied(event.user, database))
            accepted.append(isAccepted)
            if isAccepted {
                try insert(event, by: row, database)
                written += event.body.count + 64 * event.deliveries.count
            }
            // At intervals, so that one large call needs no more room than many small ones.
            if index % 64 == 63 || index == events.count - 1 {
                if isTailLong { try writeTail(database) }
                try makeRoom(after: written, now: now, database)
                written = 0
            }
        }
        return accepted
    }

    private mutating func insert(_ event: StoredEvent, by insert: HotStatement, _ database: Database) throws {
        // A lane created here counts from before this event.
        let places = try event.deliveries.map { try place(of: $0.destination, database) }
        let owed = owed(event.deliveries, at: places)
        if owed == nil { try writeTail(database) }
        lastSequence += 1
        try insert.bind(lastSequence, at: 1)
        try insert.bind(event.priority, at: 2)
        try insert.bind(event.date, at: 3)
        if let owed { try insert.bind(owed, at: 4) } else { try insert.bindNull(at: 4) }
        try insert.bind(event.isKept, at: 5)
        try insert.bind(event.user, at: 6)
        try insert.bind(event.body, at: 7)
        try insert.run()
        extent.count += 1
        extent.bytes += event.body.count
        extent.oldestDate = min(extent.oldestDate, event.date)
        for (place, delivery) in zip(places, event.deliveries) {
            lanes[place].lane.ledger.accepted += 1
            lanes[place].oldestDate = min(lanes[place].oldestDate, event.date)
            if delivery.isHeld { consent.mayBeHeld = true }
        }
        if owed == nil { try insertDeliveries(of: event, at: places, database) } else { addToTail(event) }
    }

    private mutating func insertDeliveries(of event: StoredEvent, at places: [Int], _ database: Database) throws {
        let owe = try HotStatement(
            "INSERT INTO delivery (destination, held, sequence, kept, user) VALUES (?, ?, ?, ?, ?)",
            database
        )
        for (place, delivery) in zip(places, event.deliveries) {
            try owe.bind(lanes[place].id, at: 1)
            try owe.bind(delivery.isHeld, at: 2)
            try owe.bind(lastSequence, at: 3)
            try owe.bind(event.isKept, at: 4)
            try owe.bind(event.user, at: 5)
            try owe.run()
        }
        try endTail(database)
    }
}
