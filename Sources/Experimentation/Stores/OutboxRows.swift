import Foundation

/// The contents of an outbox in memory: events, their deliveries, the lanes of their destinations, and who denies
/// consent.
///
/// Pure: it uses no lock and no clock.
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
        /// By the index of the destination's lane.
        var deliveries: [Int: Delivery]

        /// Whether the event has no deliveries left.
        var isGone: Bool { deliveries.isEmpty }
        var user: ExactText { ExactText(envelope.identity.id) }
        var isKept: Bool { envelope.event.isConsentSignal }
    }

    /// In the order of acceptance, including some that are gone: removing each one by itself would move everything
    /// behind it.
    var rows: [Row] = []
    /// The number and size of the events that aren't gone.
    private(set) var waiting = (count: 0, bytes: 0)
    var lanes: [OutboxLane] = []
    var denied: Set<ExactText> = []
    /// The users with held events; may include users whose held events were removed meanwhile.
    private var held: Set<ExactText> = []
    /// For each lane, the sequence number of the first event that may be owed to it.
    private var fronts: [Int: Int64] = [:]
    /// For each lane, a lower bound of the dates of the events that are owed to it.
    var oldestDates: [Int: Date] = [:]
    /// For each priority, the sequence number of the first event that may be evicted; and how many deliveries were
    /// dropped to make room.
    private var evictions = (from: [Priority: Int64](), count: 0)
    private var nextSequence: Int64 = 1
    let maximumCount: Int
    let maximumBytes: Int

    init(maximumCount: Int, maximumBytes: Int) {
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
    }

    /// The number of deliveries dropped to make room.
    var overflowed: Int { evictions.count }

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

    /// Returns the index of the first event that is owed to a lane, held or not.
    ///
    /// Only new events become owed to a lane, so those before the front are never searched again.
    mutating func front(of place: Int) -> Int {
        var index = position(of: fronts[place] ?? 0)
        while index < rows.count, rows[index].deliveries[place] == nil { index += 1 }
        fronts[place] = index < rows.count ? rows[index].envelope.sequence : nextSequence
        return index
    }

    /// Returns the index of the first event with at least this sequence number.
    func position(of sequence: Int64) -> Int { rows.position { $0.envelope.sequence < sequence } }

    // MARK: Acceptance

    /// Accepts an event, or returns why not.
    mutating func append(_ event: NewEvent, bytes size: Int) -> ExperimentationError? {
        let user = ExactText(event.envelope.identity.id)
        if event.grantsConsent { grant(user.text) }
        if event.deliveries.isEmpty { return .owedToNobody }
        if denied.contains(user), !event.envelope.event.isConsentSignal { return .consentDenied }
        var row = Row(envelope: event.envelope, bytes: size, deliveries: [:])
        row.envelope.sequence = nextSequence
        for delivery in event.deliveries {
            let place = place(of: delivery.destination)
            row.deliveries[place] = Delivery(isHeld: delivery.isHeld)
            if delivery.isHeld { held.insert(user) }
            oldestDates[place] = min(oldestDates[place] ?? .distantFuture, event.envelope.date)
            lanes[place].ledger.accepted += 1
        }
        nextSequence += 1
        rows.append(row)
        waiting.count += 1
        waiting.bytes += size
        return nil
    }

    private var isFull: Bool { waiting.count > maximumCount || waiting.bytes > maximumBytes }

    /// Drops the oldest of the least important events while there are too many.
    ///
    /// Its cost doesn't grow with the number of waiting events: the search for each priority continues where the last
    /// one ended.
    mutating func makeRoom(now: Date) {
        guard isFull else { return }
        for priority in Priority.allCases where isFull {
            var leased: Int64?
            var index = position(of: evictions.from[priority] ?? 0)
            while isFull, index < rows.count {
                if !rows[index].isGone, rows[index].envelope.event.priority == priority {
                    if isFree(rows[index], at: now) {
                        evict(index)
                    } else {
                        leased = leased ?? rows[index].envelope.sequence
                    }
                }
                index += 1
            }
            evictions.from[priority] = leased ?? (index < rows.count ? rows[index].envelope.sequence : nextSequence)
        }
        compactIfSparse()
    }

    private mutating func evict(_ index: Int) {
        for (place, delivery) in rows[index].deliveries {
            lanes[place].ledger.dropped[.overflow, default: 0] += 1
            evictions.count += 1
            if !delivery.isHeld { lanes[place].disturb(rows[index].envelope.sequence) }
            end(index, at: place)
        }
    }

    /// Whether an event isn't leased: a leased one would be counted as lost although its vendor may have it.
    func isFree(_ row: Row, at now: Date) -> Bool {
        !row.deliveries.contains { place, delivery in
            !delivery.isHeld && lanes[place].hasGivenOut(row.envelope.sequence, at: now)
        }
    }

    // MARK: Removal

    /// Ends the delivery of an event to a destination, and the event itself with the last of its deliveries.
    mutating func end(_ index: Int, at place: Int) {
        rows[index].deliveries[place] = nil
        guard rows[index].isGone else { return }
        waiting.count -= 1
        waiting.bytes -= rows[index].bytes
    }

    /// Removes the events that are gone once they are a third of all, so that each costs a fixed share of a pass.
    mutating func compactIfSparse() {
        if rows.count - waiting.count > waiting.count / 2 + 16 { compact() }
    }

    /// Removes the events that are gone.
    mutating func compact() { rows.removeAll { $0.isGone } }

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
        // Every session of a user who consents calls this, and few users have held events.
        guard held.remove(user) != nil else { return 0 }
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
