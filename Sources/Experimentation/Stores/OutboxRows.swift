import Foundation

/// What an outbox in memory holds: events, their deliveries, the lanes of their destinations, and who denies consent.
///
/// Pure: it knows no lock and no clock.
struct OutboxRows {
    struct Delivery {
        var isHeld: Bool
        var wait = OutboxLane.Wait()
        var attempts = 0
        var reason: String?
    }

    struct Row {
        var envelope: Envelope
        var bytes: Int
        /// By the place of the destination's lane.
        var deliveries: [Int: Delivery]

        var user: ExactText { ExactText(envelope.identity.id) }
        var isKept: Bool { envelope.event.isConsentSignal }
    }

    var rows: [Row] = []
    var lanes: [OutboxLane] = []
    var denied: Set<ExactText> = []
    var nextSequence: Int64 = 1
    var bytes = 0
    let maximumCount: Int
    let maximumBytes: Int

    init(maximumCount: Int, maximumBytes: Int) {
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
    }

    // MARK: Lanes

    func lane(of destination: Destination) -> OutboxLane {
        lanes.first { $0.destination == destination } ?? OutboxLane(of: destination)
    }

    mutating func changeLane<Result>(of destination: Destination, _ change: (inout OutboxLane) -> Result) -> Result {
        change(&lanes[place(of: destination)])
    }

    mutating func place(of destination: Destination) -> Int {
        if let place = lanes.firstIndex(where: { $0.destination == destination }) { return place }
        lanes.append(OutboxLane(of: destination))
        return lanes.count - 1
    }

    // MARK: Accepting

    /// Takes an event in, or says why not.
    mutating func append(_ event: NewEvent, bytes size: Int) -> ExperimentationError? {
        if event.deliveries.isEmpty { return .owedToNobody }
        let user = ExactText(event.envelope.identity.id)
        if event.grantsConsent { grant(user.text) }
        if denied.contains(user), !event.envelope.event.isConsentSignal { return .consentDenied }
        var row = Row(envelope: event.envelope, bytes: size, deliveries: [:])
        row.envelope.sequence = nextSequence
        for delivery in event.deliveries {
            let place = place(of: delivery.destination)
            row.deliveries[place] = Delivery(isHeld: delivery.isHeld)
            lanes[place].ledger.accepted += 1
        }
        nextSequence += 1
        rows.append(row)
        bytes += size
        return nil
    }

    /// Drops the oldest of the least important events while there are too many.
    mutating func makeRoom(now: Date) {
        while rows.count > maximumCount || bytes > maximumBytes {
            guard let victim = victim(at: now) else { return }
            for (place, delivery) in rows[victim].deliveries {
                lanes[place].ledger.dropped[.overflow, default: 0] += 1
                if !delivery.isHeld { lanes[place].disturb(rows[victim].envelope.sequence) }
            }
            bytes -= rows[victim].bytes
            rows.remove(at: victim)
        }
    }

    /// The oldest of the least important events that nobody has in hand.
    func victim(at now: Date) -> Int? {
        var victim: Int?
        for index in rows.indices {
            if let victim, rows[victim].envelope.event.priority <= rows[index].envelope.event.priority { continue }
            if isFree(rows[index], at: now) { victim = index }
            if let victim, rows[victim].envelope.event.priority == .low { break }
        }
        return victim
    }

    /// Whether nobody has an event in hand: it would be counted as lost although its vendor may have it.
    func isFree(_ row: Row, at now: Date) -> Bool {
        !row.deliveries.contains { place, delivery in
            !delivery.isHeld && lanes[place].hasGivenOut(row.envelope.sequence, at: now)
        }
    }

    // MARK: Consent

    /// - Returns: How many deliveries were removed.
    mutating func deny(_ userID: String) -> Int {
        let user = ExactText(userID)
        denied.insert(user)
        return remove { row, place, lanes in
            guard row.user == user, !row.isKept else { return false }
            lanes[place].ledger.purged += 1
            return true
        }
    }

    /// - Returns: How many deliveries were released.
    @discardableResult
    mutating func grant(_ userID: String) -> Int {
        let user = ExactText(userID)
        denied.remove(user)
        var released = 0
        for index in rows.indices where rows[index].user == user {
            for (place, delivery) in rows[index].deliveries where delivery.isHeld {
                rows[index].deliveries[place]?.isHeld = false
                lanes[place].disturb(rows[index].envelope.sequence)
                released += 1
            }
        }
        return released
    }
}
