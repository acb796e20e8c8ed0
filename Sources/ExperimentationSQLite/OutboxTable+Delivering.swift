import Experimentation
import Foundation
internal import GRDB

extension OutboxTable {
    /// How far a clock may be set back before waits that were noted earlier are taken for mistakes.
    private static let clockTolerance = 60.0

    /// Takes the next batches to deliver, and keeps others from taking them.
    mutating func lease(
        _ batches: Int,
        of limit: Int,
        bytes: Int,
        now: Double,
        until: Double,
        _ database: Database
    ) throws -> [[LeasedEvent]] {
        self.now = now
        let taken = try next(batches, of: limit, bytes: bytes, database)
        let mark = try HotStatement(
            """
            INSERT INTO attempt (sequence, leased, noted, due, attempts) VALUES (?, 1, ?, ?, 0)
            ON CONFLICT (sequence) DO UPDATE SET leased = 1, noted = excluded.noted, due = excluded.due
            """,
            database
        )
        for event in taken.joined() {
            try mark.bind(event.sequence, at: 1)
            try mark.bind(now, at: 2)
            try mark.bind(until, at: 3)
            try mark.run()
            leased[event.id] = Leased(sequence: event.sequence, bytes: event.body.count)
        }
        return taken
    }

    /// The next events that may be tried, in batches.
    private func next(_ batches: Int, of limit: Int, bytes: Int, _ database: Database) throws -> [[LeasedEvent]] {
        let rows = try HotStatement(
            """
            SELECT event.sequence, user, coalesce(noted - ?1 <= ?2 AND ?2 < due, 0), length(body), id,
                coalesce(attempts, 0), body
            FROM event LEFT JOIN attempt ON attempt.sequence = event.sequence
            WHERE held = 0 ORDER BY event.sequence
            """,
            database
        )
        try rows.bind(Self.clockTolerance, at: 1)
        try rows.bind(now, at: 2)
        defer { rows.reset() }
        var full: [[LeasedEvent]] = []
        var batch: [LeasedEvent] = []
        var size = 0
        var waiting: Set<String> = []
        while try rows.step() {
            if rows.int(2) != 0 {
                waiting.insert(rows.text(1))
                continue
            }
            if !waiting.isEmpty, waiting.contains(rows.text(1)) { continue }
            let length = Int(rows.int(3))
            if !batch.isEmpty, batch.count >= limit || size + length > bytes {
                full.append(batch)
                batch = []
                size = 0
                if full.count >= batches { return full }
            }
            size += length
            batch.append(
                LeasedEvent(
                    sequence: rows.int(0),
                    id: rows.text(4),
                    attempts: Int(clamping: rows.int(5)),
                    body: rows.bytes(6)
                )
            )
        }
        return batch.isEmpty ? full : full + [batch]
    }

    /// Writes down what became of events.
    mutating func settle(_ settlements: [Settlement], _ database: Database) throws {
        var gone: [String: [Leased]] = [:]
        for settlement in settlements {
            guard let known = try find(settlement.id, database) else { continue }
            leased[settlement.id] = nil
            switch settlement {
            case .delivered: gone["delivered", default: []].append(known)
            case .dropped(_, let reason, _): gone[reason.rawValue, default: []].append(known)
            case .retry(_, let date, let attempts, let reason):
                try giveBack(known, at: date.timeIntervalSince1970, attempts: attempts, reason: reason, database)
            }
        }
        if gone.isEmpty { return }
        try keepSequence(database)
        for (name, events) in gone { try add(try remove(events, database), to: name, database) }
    }

    private func giveBack(
        _ event: Leased,
        at due: Double,
        attempts: Int,
        reason: String,
        _ database: Database
    ) throws {
        try database.cachedStatement(
            sql: """
                INSERT INTO attempt (sequence, leased, noted, due, attempts, reason)
                SELECT sequence, 0, ?, ?, ?, ? FROM event WHERE sequence = ?
                ON CONFLICT (sequence) DO UPDATE SET leased = 0, noted = excluded.noted, due = excluded.due,
                    attempts = excluded.attempts, reason = coalesce(excluded.reason, reason)
                """
        ).execute(arguments: [now, due, attempts, reason.isEmpty ? nil : reason, event.sequence])
    }

    /// Finds an event by its id: in memory if this process leased it, else by looking through all.
    private func find(_ id: String, _ database: Database) throws -> Leased? {
        if let known = leased[id] { return known }
        let statement = try database.cachedStatement(sql: "SELECT sequence, length(body) FROM event WHERE id = ?")
        return try Row.fetchOne(statement, arguments: [id]).map { Leased(sequence: $0[0], bytes: $0[1]) }
    }

    /// Deletes events, those with consecutive numbers in one go.
    ///
    /// - Returns: How many of them were still there.
    private mutating func remove(_ events: [Leased], _ database: Database) throws -> Int {
        let events = events.sorted { $0.sequence < $1.sequence }
        let delete = try HotStatement("DELETE FROM event WHERE sequence BETWEEN ? AND ?", database)
        let forget = try HotStatement("DELETE FROM attempt WHERE sequence BETWEEN ? AND ?", database)
        var removed = 0
        var start = 0
        while start < events.count {
            var end = start + 1
            while end < events.count, events[end].sequence <= events[end - 1].sequence + 1 { end += 1 }
            for statement in [delete, forget] {
                try statement.bind(events[start].sequence, at: 1)
                try statement.bind(events[end - 1].sequence, at: 2)
            }
            try delete.run()
            let deleted = delete.changes
            try forget.run()
            let range = events[start..<end]
            removed += deleted
            count -= deleted
            if deleted == range.count {
                bytes -= range.reduce(0) { $0 + $1.bytes }
            } else if deleted > 0 {
                // Which of them others have removed isn't known: what is remembered is an upper bound from now on.
                isExact = false
            }
            start = end
        }
        return removed
    }

    /// What waits.
    func status(now: Double, _ database: Database) throws -> OutboxStatus {
        let select = try database.cachedStatement(
            sql: """
                WITH waiting AS (
                    SELECT held, date, length(body) AS size, coalesce(leased, 0) AS leased, due,
                        coalesce(noted - ? <= ? AND ? < due, 0) AS waits
                    FROM event LEFT JOIN attempt ON attempt.sequence = event.sequence
                )
                SELECT count(*) FILTER (WHERE NOT held AND NOT waits), count(*) FILTER (WHERE held),
                    count(*) FILTER (WHERE NOT held AND waits AND NOT leased),
                    count(*) FILTER (WHERE NOT held AND waits AND leased),
                    coalesce(sum(size), 0), min(date), min(due) FILTER (WHERE NOT held AND waits AND NOT leased)
                FROM waiting
                """
        )
        guard let row = try Row.fetchOne(select, arguments: [Self.clockTolerance, now, now]) else {
            return OutboxStatus()
        }
        var status = OutboxStatus(ready: row[0], held: row[1], delayed: row[2], leased: row[3], bytes: row[4])
        status.oldest = (row[5] as Double?).map(Date.init(timeIntervalSince1970:))
        status.nextAttempt = (row[6] as Double?).map(Date.init(timeIntervalSince1970:))
        let reasons = try database.cachedStatement(
            sql: "SELECT reason, count(*) FROM attempt WHERE reason IS NOT NULL GROUP BY reason"
        )
        for row in try Row.fetchAll(reasons) { status.failures[row[0]] = row[1] }
        return status
    }

    /// Takes back the leases of processes that are gone; called when nobody else has the store open.
    static func takeBackLeases(_ database: Database) throws {
        try database.execute(sql: "UPDATE attempt SET leased = 0, due = 0 WHERE leased = 1")
    }
}
