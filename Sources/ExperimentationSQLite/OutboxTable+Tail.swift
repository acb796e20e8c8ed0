import Experimentation
import Foundation
internal import GRDB

/// The tail: the latest events, whose deliveries don't have rows of their own yet.
///
/// An event says itself whom it is owed to, so that accepting one writes one page. Its deliveries get rows together with
/// those of others, before anything is done with any of them; what only reads looks at both. Where the tail of a
/// destination begins is in its row: behind ``StoredLane/through``.
extension OutboxTable {
    /// How many events the tail has at most, but for those of one transaction.
    private static let longestTail: Int64 = 256
    /// How many bytes its deliveries take at most, which must fit into what a full store keeps back.
    private static let largestTail = 32_768
    /// How many destinations a plausible number has room for; what is owed to others gets its rows at once.
    private static let mostInTail: Int64 = 26

    /// What is in the tail, by destination, as ``StoredLane`` and the statements have it.
    ///
    /// In the connection's own memory: damage to the file doesn't touch it.
    static func createViews(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TEMP VIEW tail AS
                SELECT destination.id AS destination, owed >> (2 * destination.id - 1) & 1 AS held, sequence, kept, user
                FROM destination CROSS JOIN event
                WHERE sequence > through AND owed >> (2 * destination.id - 2) & 1;
                CREATE TEMP VIEW owing AS
                SELECT destination, held, sequence, kept, user, due, attempts, delivery.reason
                FROM destination CROSS JOIN delivery ON delivery.destination = destination.id
                WHERE held = 1 OR sequence > head
                UNION ALL
                SELECT destination, held, sequence, kept, user, NULL, NULL, NULL FROM tail;
                """
        )
    }

    /// Whom an event is owed to, as a number: for each destination a bit, and another one if it is held there.
    ///
    /// - Returns: `nil` if a number has no room for that.
    func owed(_ deliveries: [NewEvent.Delivery], at places: [Int]) -> Int64? {
        var bits: Int64 = 0
        for (place, delivery) in zip(places, deliveries) {
            let id = lanes[place].id
            guard (1...Self.mostInTail).contains(id) else { return nil }
            bits |= (delivery.isHeld ? 3 : 1) << (2 * id - 2)
        }
        return bits
    }

    /// Reads what ``owed(_:at:)`` wrote.
    ///
    /// - Returns: Whether an event is held at a destination; `nil` if it isn't owed to it.
    static func isHeld(_ owed: Int64, at id: Int64) -> Bool? {
        guard (1...mostInTail).contains(id), owed >> (2 * id - 2) & 1 == 1 else { return nil }
        return owed >> (2 * id - 1) & 1 == 1
    }

    /// Notes that an event was added to the tail.
    mutating func addToTail(_ event: StoredEvent) {
        tailBytes += event.deliveries.count * (event.user.utf8.count + 32)
    }

    /// Whether the tail has become long.
    var isTailLong: Bool {
        tailBytes > Self.largestTail || lanes.contains { lastSequence - $0.through >= Self.longestTail }
    }

    /// Gives the events of the tail their deliveries' rows; called before anything is done with a delivery.
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

    /// Writes down that every delivery has its row.
    mutating func endTail(_ database: Database) throws {
        tailBytes = 0
        for place in lanes.indices where lanes[place].through < lastSequence {
            lanes[place].through = lastSequence
            try lanes[place].write(database)
        }
    }

    /// Notices what is in the tail, which other processes may have written.
    mutating func measureTail(_ database: Database) throws {
        let size = try database.cachedStatement(sql: "SELECT coalesce(sum(length(user) + 32), 0) FROM tail")
        tailBytes = try Int.fetchOne(size) ?? 0
    }
}
