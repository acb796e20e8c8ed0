@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

/// The head: deliveries made from the front of a lane whose rows still exist.
///
/// When a vendor has taken exactly the first events of a lane, one number in the destination's row records that, which
/// writes one page instead of a dozen. Readers skip the rows of the head, whose end is in the destination's row:
/// ``StoredLane/head``.
///
/// The rows are deleted:
///
/// - when the lane is empty: all at once if nothing else is in the store; if there are many, behind everything else
/// - when the lane is released: behind everything else
/// - before anything else is done with deliveries
/// - otherwise as fast as new events arrive
extension OutboxTable {
    /// How many rows are deleted in one transaction where they needn't all go, and how many new events prompt that.
    static let headPortion = 1_600

    /// Whether completed deliveries still have rows.
    var hasHead: Bool { lanes.contains { $0.head > 0 } }

    /// Records that a vendor has taken the front of a lane, if that is exactly what these settlements say.
    ///
    /// - Returns: Whether it is; if not, nothing is written.
    mutating func advanceHead(_ settlements: [Settlement], _ place: Int, _ database: Database) throws -> Bool {
        guard let last = settlements.last, settlements.allSatisfy(\.isDelivered),
            try lanes[place].front.remove(settlements) || isFront(settlements, place, database)
        else { return false }
        lanes[place].head = last.sequence
        lanes[place].lane.ledger.delivered += settlements.count
        lanes[place].lane.succeed()
        if extent.count <= Self.headPortion, try !hasBody(place, database) {
            try clearDelivered(database)
        } else if lastSequence - upkeep.cleared >= Self.headPortion {
            try clearHead(atMost: Self.headPortion, database)
        }
        try lanes[place].writeHead(database)
        return true
    }

    /// Whether these come first, with none missing before or between them.
    private func isFront(_ settlements: [Settlement], _ place: Int, _ database: Database) throws -> Bool {
        let rows = try HotStatement(
            """
            SELECT sequence, due IS NOT NULL FROM delivery
            WHERE destination = ? AND held = 0 AND sequence > ? ORDER BY sequence
            """,
            database
        )
        try rows.bind(lanes[place].id, at: 1)
        try rows.bind(lanes[place].head, at: 2)
        defer { rows.reset() }
        for settlement in settlements {
            // Retried deliveries are in the index of delayed ones, which isn't consulted for the head.
            guard try rows.step(), rows.int(0) == settlement.sequence, rows.int(1) == 0 else { return false }
        }
        return true
    }

    /// Whether something deliverable follows a lane's head.
    private func hasBody(_ place: Int, _ database: Database) throws -> Bool {
        let next = try HotStatement(
            "SELECT 1 FROM delivery WHERE destination = ? AND held = 0 AND sequence > ? LIMIT 1",
            database
        )
        try next.bind(lanes[place].id, at: 1)
        try next.bind(lanes[place].head, at: 2)
        defer { next.reset() }
        return try next.step()
    }

    /// Deletes the rows of completed deliveries and of evicted events; called before anything else is done with a
    /// delivery.
    mutating func clearHead(_ database: Database) throws {
        evictions.change()
        try dropEvicted(database)
        try clearDelivered(database)
    }

    /// Deletes the rows of completed deliveries, at most a number of them if others wait.
    mutating func clearDelivered(atMost number: Int = .max, _ database: Database) throws {
        for place in lanes.indices { lanes[place].front = StoredLane.Front() }
        guard hasHead, try !clearAll(database) else { return }
        try clearHead(atMost: number, database)
    }

    /// Deletes rows of completed deliveries, oldest first.
    mutating func clearHead(atMost number: Int, _ database: Database) throws {
        let select = try HotStatement(
            "SELECT sequence FROM delivery WHERE destination = ? AND held = 0 AND sequence <= ? ORDER BY sequence LIMIT ?",
            database
        )
        let delete = try HotStatement(
            "DELETE FROM delivery WHERE destination = ? AND held = 0 AND sequence <= ?",
            database
        )
        upkeep.cleared = lastSequence
        for place in lanes.indices where lanes[place].head > 0 {
            var sequences: [Int64] = []
            try select.bind(lanes[place].id, at: 1)
            try select.bind(lanes[place].head, at: 2)
            try select.bind(number, at: 3)
            while try select.step() { sequences.append(select.int(0)) }
            select.reset()
            if let last = sequences.last { try delete.run(lanes[place].id, last) }
            if sequences.count < number {
                lanes[place].head = 0
                try lanes[place].writeHead(database)
            }
            try removeBodies(sequences, database)
        }
    }

    /// Deletes everything if only delivered events are left: no row needs to be read, and no page of rows written.
    ///
    /// - Returns: Whether that was so.
    private mutating func clearAll(_ database: Database) throws -> Bool {
        let held = try HotStatement("SELECT 1 FROM delivery WHERE destination = ? AND held = 1 LIMIT 1", database)
        for place in lanes.indices {
            guard lanes[place].through == lastSequence, try !hasBody(place, database) else { return false }
            try held.bind(lanes[place].id, at: 1)
            defer { held.reset() }
            if try held.step() { return false }
        }
        try HotStatement("DELETE FROM delivery", database).run()
        try HotStatement("DELETE FROM event", database).run()
        extent = Extent()
        upkeep.cleared = lastSequence
        for place in lanes.indices where lanes[place].head > 0 {
            lanes[place].head = 0
            try lanes[place].writeHead(database)
        }
        return true
    }
}

extension Settlement {
    fileprivate var isDelivered: Bool {
        if case .delivered = outcome { true } else { false }
    }
}
