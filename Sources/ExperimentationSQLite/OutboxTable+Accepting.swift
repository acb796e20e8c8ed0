import Experimentation
import Foundation
internal import GRDB

extension OutboxTable {
    /// Accepts events and makes room for them.
    mutating func append(_ events: [StoredEvent], _ database: Database) throws {
        let insert = try HotStatement(
            """
            INSERT INTO event (sequence, priority, held, kept, date, user, id, body)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            database
        )
        var written = 0
        for (index, event) in events.enumerated() {
            lastSequence += 1
            try insert.bind(lastSequence, at: 1)
            try insert.bind(event.priority, at: 2)
            try insert.bind(event.isHeld, at: 3)
            try insert.bind(event.isKept, at: 4)
            try insert.bind(event.date, at: 5)
            try insert.bind(event.user, at: 6)
            try insert.bind(event.id, at: 7)
            try insert.bind(event.body, at: 8)
            try insert.run()
            count += 1
            bytes += event.body.count
            oldestDate = min(oldestDate, event.date)
            // Every so often, so that one large call needs no more room than many small ones.
            written += event.body.count
            if index % 64 == 63 || index == events.count - 1 {
                try makeRoom(after: written, database)
                written = 0
            }
        }
    }

    /// Drops the oldest of the least important events while there are too many.
    private mutating func makeRoom(after bytes: Int, _ database: Database) throws {
        if isOverLimits, !isExact { try recount(database) }
        if isOverLimits { try drop(database) { $0.isOverLimits } }
        // Half-empty pages, or cached values, may use up the file before the bodies reach their limit.
        while try !hasRoom(after: bytes, database) {
            let before = count
            var left = 64
            try drop(database) { _ in
                left -= 1
                return left >= 0
            }
            if count == before { throw StoreFault.full }
        }
    }

    private var isOverLimits: Bool { count > limits.maximumCount || bytes > limits.maximumBytes }

    /// Drops events, the least important first and of those the oldest, while a condition holds.
    ///
    /// What is being delivered is left alone: it would be counted as lost although the vendor may have it.
    private mutating func drop(_ database: Database, while condition: (inout Self) -> Bool) throws {
        let select = try database.cachedStatement(
            sql: """
                SELECT event.sequence, length(body), first IS NOT NULL
                FROM event LEFT JOIN lease
                ON first = (SELECT max(first) FROM lease WHERE first <= event.sequence) AND last >= event.sequence
                WHERE event.sequence >= ? AND priority = ? ORDER BY event.sequence
                """
        )
        let delete = try database.cachedStatement(sql: "DELETE FROM event WHERE sequence = ?")
        let forget = try database.cachedStatement(sql: "DELETE FROM attempt WHERE sequence = ?")
        try keepSequence(database)
        var dropped = 0
        for priority in firstOfPriority.indices {
            var victims: [Int64] = []
            var first: Int64?
            let rows = try Row.fetchCursor(select, arguments: [firstOfPriority[priority], priority])
            var isDone = false
            while let row = try rows.next() {
                let sequence: Int64 = row[0]
                if row[2] == true {
                    first = first ?? sequence
                    continue
                }
                guard condition(&self) else {
                    first = first ?? sequence
                    isDone = true
                    break
                }
                count -= 1
                bytes -= row[1]
                victims.append(sequence)
            }
            for sequence in victims {
                try delete.execute(arguments: [sequence])
                try forget.execute(arguments: [sequence])
            }
            dropped += victims.count
            firstOfPriority[priority] = first ?? lastSequence + 1
            if isDone { break }
        }
        try add(dropped, to: Ledger.DropReason.overflow.rawValue, database)
    }

    /// Lets held events of a user go.
    mutating func release(user: String, _ database: Database) throws {
        // Events behind the place where the last lease stopped may be tried now.
        place = nil
        let statement = try database.cachedStatement(sql: "UPDATE event SET held = 0 WHERE held = 1 AND user = ?")
        try statement.execute(arguments: [user])
    }

    /// Removes a user's events, but for the consent signal.
    ///
    /// - Returns: How many, and the numbers of those among them that somebody had leased.
    mutating func purge(user: String, _ database: Database) throws -> (count: Int, leased: [Int64]) {
        try keepSequence(database)
        let leased = try Int64.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT sequence FROM lease CROSS JOIN event ON sequence BETWEEN first AND last
                    WHERE user = ? AND kept = 0
                    """
            ),
            arguments: [user]
        )
        try endLeases(of: leased, database)
        try database.cachedStatement(
            sql: """
                DELETE FROM attempt
                WHERE sequence IN (SELECT sequence FROM event WHERE user = ? AND kept = 0)
                """
        ).execute(arguments: [user])
        try database.cachedStatement(sql: "DELETE FROM event WHERE user = ? AND kept = 0").execute(arguments: [user])
        let purged = database.changesCount
        try add(purged, to: "purged", database)
        try recount(database)
        return (purged, leased)
    }

    /// Drops what is older than a moment and isn't being delivered.
    ///
    /// - Returns: How many.
    mutating func expire(before date: Double, _ database: Database) throws -> Int {
        if date <= oldestDate { return 0 }
        try keepSequence(database)
        try database.cachedStatement(
            sql: """
                DELETE FROM event
                WHERE date < ? AND NOT EXISTS (
                    SELECT 1 FROM lease
                    WHERE first = (SELECT max(first) FROM lease WHERE first <= sequence) AND last >= sequence
                )
                """
        ).execute(arguments: [date])
        let expired = database.changesCount
        if expired > 0 {
            try database.cachedStatement(
                sql: "DELETE FROM attempt WHERE sequence NOT IN (SELECT sequence FROM event)"
            ).execute()
            try add(expired, to: Ledger.DropReason.expired.rawValue, database)
        }
        try recount(database)
        return expired
    }
}
