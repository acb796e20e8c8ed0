@_spi(StoredForm) import Experimentation
import Foundation

/// Everything that a store holds, as values: what is carried from one file into another.
struct StoreContents: Sendable {
    /// An event's written form.
    struct Event: Sendable {
        var priority: Int
        var date: Double
        var body: Data
        /// Whom it is owed to, if its deliveries may have no rows of their own.
        var tail: Tail?
    }

    /// What the rows of an event's deliveries will say; see ``OutboxTable/owed(_:at:)``.
    struct Tail: Sendable {
        var owed: Int64
        var isKept: Bool
        var user: String
    }

    /// What an event is owed by at one destination.
    struct Delivery: Sendable {
        var isHeld: Bool
        var isKept: Bool
        var user: String
        var noted: Double?
        var due: Double?
        var attempts: Int?
        var reason: String?
    }

    /// A destination, with the accounts of everything that it was owed.
    struct Lane: Sendable {
        var lane: OutboxLane
        /// What was accepted up to this sequence is counted in the lane.
        var through: Int64
        /// Up to this sequence, what isn't held is delivered, although its rows may still be there.
        var head: Int64 = 0
        /// What is owed, by sequence.
        var deliveries: [Int64: Delivery] = [:]
        /// Whether some of what is held, or of what isn't, can't be read.
        var hasHole = (held: false, free: false)
        /// Whether some of what came behind ``through`` can't be read.
        var hasTailHole = false
    }

    /// A value of the state store.
    struct Value: Sendable {
        var key: String
        var value: Data
    }

    /// The destinations by their numbers, which ascend in the order in which they were first named.
    var lanes: [Int64: Lane] = [:]
    /// The events by sequence.
    var events: [Int64: Event] = [:]
    /// The highest sequence that was ever given, as far as is known.
    var lastSequence: Int64 = 0
    /// The values by the order of their writing.
    var values: [Int64: Value] = [:]
    /// The marks of those who deny consent.
    var denials: Set<Data> = []
    /// What those marks were made with, the file's own first.
    var salts: [Data] = []
    /// Whether the file is to be rewritten, because something was removed.
    var isErasingOwed = false
    /// Whether everything was carried into another file already.
    var isMoved = false

    /// Whose values these are, if that was written down.
    var owner: [UInt8]? { values.values.first { $0.key == StateTable.account }.map { Array($0.value) } }

    /// A number that a table may hold for a count, a sequence or a version.
    static func isPlausible(_ number: Int64) -> Bool { (0..<1 << 53).contains(number) }
}

// MARK: Accounts

extension StoreContents {
    /// Brings the accounts into balance: what was accepted but isn't there is counted as unreadable.
    ///
    /// Deliveries whose event can't be read go. An event whose deliveries can't be read is owed to the one destination of
    /// which some can't be; where there are several such, it is unknowable, and is counted instead.
    ///
    /// - Parameter copy: The accounts as they were written down beside the file, if they were.
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
            // All that came later than the table's row is in the copy's sum.
            lane.through = max(lane.through, copy.lastSequence)
            lane.head = max(lane.head, account.head)
            lanes[id] = lane
        }
    }

    /// Counts for a destination what was accepted since its accounts were written and can't be read.
    private mutating func countLost(at id: Int64, except read: Set<Int64>, upTo highest: Int64) {
        guard let through = lanes[id]?.through, highest > through else { return }
        lanes[id]?.lane.ledger.accepted += Int(highest - through) - read.count { $0 > through && $0 <= highest }
    }

    /// Gives a destination what belongs to no other, and counts for it what was accepted since its accounts were written.
    private mutating func attribute(to id: Int64, except read: Set<Int64>, upTo highest: Int64) {
        countLost(at: id, except: read, upTo: highest)
        guard var lane = lanes[id] else { return }
        for (sequence, event) in events where !read.contains(sequence) {
            guard let envelope = try? EnvelopeCoding.decode(Array(event.body)) else { continue }
            lane.deliveries[sequence] = Delivery(
                // What may have waited for consent mustn't be sent without it.
                isHeld: lane.hasHole.held && !envelope.event.isConsentSignal,
                isKept: envelope.event.isConsentSignal,
                user: envelope.identity.id
            )
        }
        lanes[id] = lane
    }
}

extension StoreContents.Lane {
    /// Leaves out what is delivered, and what can't be read, which it counts.
    fileprivate mutating func balance(_ events: [Int64: StoreContents.Event]) {
        deliveries = deliveries.filter { ($0.value.isHeld || $0.key > head) && events[$0.key] != nil }
        let gone = lane.ledger.delivered + lane.ledger.purged + lane.ledger.dropped.values.reduce(0, +)
        lane.ledger.accepted = max(lane.ledger.accepted, gone + deliveries.count)
        let missing = lane.ledger.accepted - gone - deliveries.count
        if missing > 0 { lane.ledger.dropped[.unreadable, default: 0] += missing }
    }
}

extension Ledger {
    /// Takes the higher of two figures; accounts only grow.
    fileprivate mutating func rise(to other: Ledger) {
        accepted = max(accepted, other.accepted)
        delivered = max(delivered, other.delivered)
        purged = max(purged, other.purged)
        dropped.merge(other.dropped) { max($0, $1) }
    }
}
