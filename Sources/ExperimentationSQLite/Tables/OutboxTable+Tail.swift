import Experimentation
import Foundation
internal import GRDB

/// The tail: the latest events, whose deliveries have no rows of their own yet.
///
/// An event itself records its destinations, so that accepting one writes one page. Its deliveries get rows together
/// with others', before anything is done with any of them; readers look at the rows and at the tail. The start of a
/// destination's tail is in its row: after ``StoredLane/through``.
extension OutboxTable {
    /// The maximum number of events in the tail, apart from those of one transaction.
    private static let longestTail: Int64 = 256
    /// The maximum size of its deliveries in bytes, which must fit into the reserve of a full store.
    private static let largestTail = 32_768
    /// How many destinations fit into a number; deliveries to others get their rows at once.
    private static let mostInTail: Int64 = 26

    /// Creates views of the tail by destination, for ``StoredLane`` and the statements.
    ///
    /// They are in the connection's own memory, so damage to the file doesn't affect them.
    static func createViews(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TEMP VIEW IF NOT EXISTS tail AS
                SELECT destination.id AS destination, owed >> (2 * destination.id - 1) & 1 AS held, sequence, kept, user
                FROM destination CROSS JOIN event
                WHERE sequence > through AND owed >> (2 * destination.id - 2) & 1;
                CREATE TEMP VIEW IF NOT EXISTS owing AS
                SELECT destination, held, sequence, kept, user, due, attempts, delivery.reason
                FROM destination CROSS JOIN delivery ON delivery.destination = destination.id
                WHERE held = 1 OR sequence > head
                UNION ALL
                SELECT destination, held, sequence, kept, user, NULL, NULL, NULL FROM tail;
                """
        )
    }

    /// Encodes an event's destinations as a number: for each a bit, and another one if the event is held there.
    ///
    /// - Returns: `nil` if that doesn't fit into a number.
    func owed(_ deliveries: [NewEvent.Delivery], at places: [Int]) -> Int64? {
        var bits: Int64 = 0
        for (place, delivery) in zip(places, deliveries) {
            let id = lanes[place].id
            guard (1...Self.mostInTail).contains(id) else { return nil }
            bits |= (delivery.isHeld ? 3 : 1) << (2 * id - 2)
        }
        return bits
    }

    /// Decodes what ``owed(_:at:)`` returned.
    ///
    /// - Returns: Whether an event is held at a destination; `nil` if it isn't owed to it.
    static func isHeld(_ owed: Int64, at id: Int64) -> Bool? {
        guard (1...mostInTail).contains(id), owed >> (2 * id - 2) & 1 == 1 else { return nil }
        return owed >> (2 * id - 1) & 1 == 1
    }

    /// Notes that an event was added to the tail.
    mutating func addToTail(_ event: StoredEvent) {
        upkeep.tailBytes += event.deliveries.count * (event.user.utf8.count + 32)
    }

    /// Whether the tail has reached its limit.
    var isTailLong: Bool {
        upkeep.tailBytes > Self.largestTail || lanes.contains { lastSequence - $0.through >= Self.longestTail }
    }

    /// Writes the rows of the tail's deliveries; called before anything is done with a delivery.
    mutating func writeTail(_ database: Database) throws {
        guard lanes.contains(where: { $0.through < lastSequence }) else { return }
        try HotStatement(
            """
            INSERT INTO delivery (destination, held, sequence, kept, user)
            SELECT destination, held, sequence, kept, user FROM tail
            """,
            database
        ).run()
        try endTail(database)
    }

    /// Records that every delivery has its row.
    mutating func endTail(_ database: Database) throws {
        upkeep.tailBytes = 0
        for place in lanes.indices where lanes[place].through < lastSequence {
            lanes[place].through = lastSequence
            try lanes[place].write(database)
        }
    }

    /// Measures the tail, which other processes may have written.
    mutating func measureTail(_ database: Database) throws {
        let size = try database.cachedStatement(sql: "SELECT coalesce(sum(length(user) + 32), 0) FROM tail")
        upkeep.tailBytes = try Int.fetchOne(size) ?? 0
    }
}
