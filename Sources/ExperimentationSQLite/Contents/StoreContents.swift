@_spi(StoredForm) import Experimentation
import Foundation

/// The contents of a store as values, for moving them from one file to another.
struct StoreContents: Sendable {
    /// An event's written form.
    struct Event: Sendable {
        var priority: Int
        var date: Double
        var body: Data
        /// The destinations, if its deliveries may have no rows of their own.
        var tail: Tail?
    }

    /// The future rows of an event's deliveries; see ``OutboxTable/owed(_:at:)``.
    struct Tail: Sendable {
        var owed: Int64
        var isKept: Bool
        var user: String
    }

    /// One event's delivery to one destination.
    struct Delivery: Sendable {
        var isHeld: Bool
        var isKept: Bool
        var user: String
        var noted: Double?
        var due: Double?
        var attempts: Int?
        var reason: String?
    }

    /// A destination with its ledger.
    struct Lane: Sendable {
        var lane: OutboxLane
        /// The lane counts what was accepted up to this sequence.
        var through: Int64
        /// Up to this sequence, deliveries that aren't held have been made, although their rows may still exist.
        var head: Int64 = 0
        /// The deliveries that are owed, by sequence.
        var deliveries: [Int64: Delivery] = [:]
        /// Whether some of the held, or some of the other, deliveries can't be read.
        var hasHole = (held: false, free: false)
        /// Whether some of what follows ``through`` can't be read.
        var hasTailHole = false
    }

    /// A value of the state store.
    struct Value: Sendable {
        var key: String
        var value: Data
    }

    /// The destinations by number, ascending in the order in which they were first named.
    var lanes: [Int64: Lane] = [:]
    /// The events by sequence.
    var events: [Int64: Event] = [:]
    /// The highest sequence ever assigned, as far as known.
    var lastSequence: Int64 = 0
    /// The values in the order of writing.
    var values: [Int64: Value] = [:]
    /// The marks of users who deny consent.
    var denials: Set<Data> = []
    /// The salts of those marks, the file's own first.
    var salts: [Data] = []
    /// Whether the file must be rewritten because something was removed.
    var isErasingOwed = false
    /// Whether everything was already moved to another file.
    var isMoved = false

    /// The latest epoch of each destination.
    var epochs: [Destination: Int64] {
        Dictionary(lanes.values.map { ($0.lane.destination, $0.lane.epoch) }, uniquingKeysWith: max)
    }

    /// The owner of the values, if recorded.
    var owner: [UInt8]? { values.values.first { $0.key == StateTable.account }.map { Array($0.value) } }
}

// MARK: Ledgers

extension StoreContents {
    /// Balances the ledgers: what was accepted but is missing is counted as unreadable.
    ///
    /// Deliveries whose event can't be read are removed. An event whose deliveries can't be read is owed to the one
    /// destination with unreadable deliveries; if there are several, the owner is unknowable, and it is counted
    /// instead.
    ///
    /// - Parameter copy: The ledgers copied beside the file, if any.
    mutating func balance(with copy: AccountsCopy?) {
        for (id, lane) in lanes {
            lanes[id]?.lane.ledger.accepted += lane.deliveries.keys.count { $0 > lane.through }
        }
        adoptAccounts(of: copy)
        let read = Set(lanes.values.flatMap(\.deliveries.keys))
        let highest = max(lastSequence, events.keys.max() ?? 0, read.max() ?? 0)
        let incomplete = lanes.filter { $0.value.hasHole.held || $0.value.hasHole.free }.keys
        if incomplete.count == 1, let id = incomplete.first { attribute(to: id, except: read, upTo: highest) }
        if incomplete.isEmpty, lanes.count == 1, let id = lanes.keys.first, lanes[id]?.hasTailHole == true {
            countLost(at: id, except: read, upTo: highest)
        }
        lastSequence = highest
        for id in lanes.keys { lanes[id]?.balance(events) }
        let owed = Set(lanes.values.flatMap(\.deliveries.keys))
        events = events.filter { owed.contains($0.key) }
    }

    private mutating func adoptAccounts(of copy: AccountsCopy?) {
        guard let copy, salts.isEmpty || copy.salt.isEmpty || salts[0] == copy.salt else { return }
        if salts.isEmpty, !copy.salt.isEmpty { salts = [copy.salt] }
        lastSequence = max(lastSequence, copy.lastSequence)
        for (id, account) in copy.lanes {
            var lane = lanes[id] ?? Lane(lane: OutboxLane(of: account.destination), through: copy.lastSequence)
            if lane.lane.destination.provider.isEmpty { lane.lane.destination = account.destination }
            lane.lane.ledger.rise(to: account.ledger)
            // The copy's sum includes everything later than the table's row.
            lane.through = max(lane.through, copy.lastSequence)
            lane.head = max(lane.head, account.head)
            lanes[id] = lane
        }
    }

    /// Counts for a destination what was accepted since its ledger was written and can't be read.
    private mutating func countLost(at id: Int64, except read: Set<Int64>, upTo highest: Int64) {
        guard let through = lanes[id]?.through, highest > through else { return }
        lanes[id]?.lane.ledger.accepted += Int(highest - through) - read.count { $0 > through && $0 <= highest }
    }

    /// Assigns to a destination what belongs to no other, and counts what was accepted since its ledger was written.
    private mutating func attribute(to id: Int64, except read: Set<Int64>, upTo highest: Int64) {
        countLost(at: id, except: read, upTo: highest)
        guard var lane = lanes[id] else { return }
        for (sequence, event) in events where !read.contains(sequence) {
            guard let envelope = try? EnvelopeCoding.decode(Array(event.body)) else { continue }
            lane.deliveries[sequence] = Delivery(
                // What may have been held for consent mustn't be sent without it.
                isHeld: lane.hasHole.held && !envelope.event.isConsentSignal,
                isKept: envelope.event.isConsentSignal,
                user: envelope.identity.id
            )
        }
        lanes[id] = lane
    }
}

extension StoreContents.Lane {
    /// Leaves out what is delivered, and what can't be read, which is counted.
    fileprivate mutating func balance(_ events: [Int64: StoreContents.Event]) {
        deliveries = deliveries.filter { ($0.value.isHeld || $0.key > head) && events[$0.key] != nil }
        let gone = lane.ledger.delivered + lane.ledger.purged + lane.ledger.dropped.values.reduce(0, +)
        lane.ledger.accepted = max(lane.ledger.accepted, gone + deliveries.count)
        let missing = lane.ledger.accepted - gone - deliveries.count
        if missing > 0 { lane.ledger.dropped[.unreadable, default: 0] += missing }
    }
}

extension Ledger {
    /// Takes the higher of two figures, since ledgers only grow.
    fileprivate mutating func rise(to other: Ledger) {
        accepted = max(accepted, other.accepted)
        delivered = max(delivered, other.delivered)
        purged = max(purged, other.purged)
        dropped.merge(other.dropped) { max($0, $1) }
    }
}
