@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

extension OutboxTable {
    /// Drops unleased deliveries older than a date.
    ///
    /// - Returns: How many were dropped.
    mutating func expire(
        before date: Date,
        owedTo destination: Destination,
        now: Date,
        _ database: Database
    ) throws -> Int {
        let date = date.timeIntervalSince1970
        if date <= extent.oldestDate { return 0 }
        let place = try place(of: destination, database)
        if date <= lanes[place].oldestDate { return 0 }
        try clearHead(database)
        try writeTail(database)
        let lane = lanes[place].lane
        let rows = try HotStatement(
            """
            DELETE FROM delivery WHERE destination = ? AND (held = 1 OR sequence > ?)
                AND (SELECT date FROM event WHERE event.sequence = delivery.sequence) < ?
            RETURNING held, sequence
            """,
            database
        )
        try rows.bind(lanes[place].id, at: 1)
        try rows.bind(lane.isHeld(at: now) ? lane.out : 0, at: 2)
        try rows.bind(date, at: 3)
        var expired = 0
        var first = Int64.max
        while try rows.step() {
            expired += 1
            if rows.int(0) == 0 { first = min(first, rows.int(1)) }
        }
        rows.reset()
        lanes[place].oldestDate = try oldestDate(at: place, database)
        // Looking for events that are no longer owed to any destination reads all of them.
        if expired == 0 { return 0 }
        // A holder whose lease has expired may still be sending them.
        lanes[place].lane.disturb(first)
        try count(expired, as: .expired, at: place, database)
        try forgetOwedToNobody(database)
        try write(place, database)
        return expired
    }

    /// The oldest date of the events that are owed to a destination.
    private func oldestDate(at place: Int, _ database: Database) throws -> Double {
        let oldest = try HotStatement(
            """
            SELECT min(date) FROM delivery CROSS JOIN event ON event.sequence = delivery.sequence
            WHERE destination = ? AND held IN (0, 1)
            """,
            database
        )
        try oldest.bind(lanes[place].id, at: 1)
        defer { oldest.reset() }
        return try oldest.step() ? oldest.double(0) ?? .infinity : .infinity
    }

    /// Removes everything that is owed to a destination.
    ///
    /// - Returns: How many deliveries were removed.
    mutating func remove(
        owedTo destination: Destination,
        as account: RemovalAccount,
        _ database: Database
    ) throws -> Int {
        let place = try place(of: destination, database)
        try clearHead(database)
        try writeTail(database)
        let given = try database.cachedStatement(
            sql: "SELECT min(sequence) FROM delivery WHERE destination = ? AND held = 0 AND (kept = 0 OR kept = ?)"
        )
        let isWhole = account != .purged
        let first = try Int64.fetchOne(given, arguments: [lanes[place].id, isWhole])
        try database.cachedStatement(sql: "DELETE FROM delivery WHERE destination = ? AND (kept = 0 OR kept = ?)")
            .execute(arguments: [lanes[place].id, isWhole])
        let removed = database.changesCount
        switch account {
        case .purged: lanes[place].lane.ledger.purged += removed
        case .dropped(let reason): try count(removed, as: reason, at: place, database)
        }
        if let first { lanes[place].lane.disturb(first) }
        try write(place, database)
        try forgetOwedToNobody(database)
        return removed
    }

    private mutating func forgetOwedToNobody(_ database: Database) throws {
        try database.cachedStatement(
            sql: """
                DELETE FROM event WHERE NOT EXISTS (
                    SELECT 1 FROM delivery WHERE destination IN (SELECT id FROM destination)
                        AND held IN (0, 1) AND delivery.sequence = event.sequence
                )
                """
        ).execute()
        try recount(database)
    }
}
