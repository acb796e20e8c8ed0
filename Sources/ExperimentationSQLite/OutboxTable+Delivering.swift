import Experimentation
import Foundation
internal import GRDB

extension OutboxTable {
    /// How far a clock may be set back before waits that were noted earlier are taken for mistakes.
    private static let clockTolerance = 60.0

    /// Takes the next events to deliver, and keeps others from taking them.
    mutating func lease(
        _ limit: Int,
        bytes: Int,
        now: Double,
        until: Double,
        _ database: Database
    ) throws -> [LeasedEvent] {
        self.now = now
        let select = try database.cachedStatement(
            sql: """
                SELECT event.sequence, user, length(body), id, body, coalesce(attempts, 0),
                    coalesce(noted - ? <= ? AND ? < due, 0)
                FROM event LEFT JOIN attempt ON attempt.sequence = event.sequence
                WHERE held = 0 ORDER BY event.sequence
                """
        )
        var taken: [LeasedEvent] = []
        var size = 0
        var waiting: Set<String> = []
        let rows = try Row.fetchCursor(select, arguments: [Self.clockTolerance, now, now])
        while taken.count < limit, let row = try rows.next() {
            let user: String = row[1]
            if row[6] == true {
                waiting.insert(user)
                continue
            }
            if !waiting.isEmpty, waiting.contains(user) { continue }
            let length: Int = row[2]
            if !taken.isEmpty, size + length > bytes { break }
            size += length
            taken.append(LeasedEvent(sequence: row[0], id: row[3], attempts: row[5], body: row[4]))
        }
        let mark = try database.cachedStatement(
            sql: """
                INSERT INTO attempt (sequence, leased, noted, due, attempts) VALUES (?, 1, ?, ?, 0)
                ON CONFLICT (sequence) DO UPDATE SET leased = 1, noted = excluded.noted, due = excluded.due
                """
        )
        for event in taken {
            try mark.execute(arguments: [event.sequence, now, until])
            leased[event.id] = Leased(sequence: event.sequence, bytes: event.body.count)
        }
        return taken
    }

    /// Writes down what became of events.
    mutating func settle(_ settlements: [Settlement], _ database: Database) throws {
        var accounts: [String: Int] = [:]
        for settlement in settlements {
            guard let known = try find(settlement.id, database) else { continue }
            leased[settlement.id] = nil
            switch settlement {
            case .delivered:
                if try remove(known, database) { accounts["delivered", default: 0] += 1 }
            case .dropped(_, let reason, _):
                if try remove(known, database) { accounts[reason.rawValue, default: 0] += 1 }
            case .retry(_, let date, let attempts, let reason):
                try database.cachedStatement(
                    sql: """
                        INSERT INTO attempt (sequence, leased, noted, due, attempts, reason)
                        SELECT sequence, 0, ?, ?, ?, ? FROM event WHERE sequence = ?
                        ON CONFLICT (sequence) DO UPDATE SET leased = 0, noted = excluded.noted, due = excluded.due,
                            attempts = excluded.attempts, reason = coalesce(excluded.reason, reason)
                        """
                ).execute(
                    arguments: [
                        now, date.timeIntervalSince1970, attempts, reason.isEmpty ? nil : reason, known.sequence,
                    ]
                )
            }
        }
        if accounts.isEmpty { return }
        try keepSequence(database)
        for (name, number) in accounts { try add(number, to: name, database) }
    }

    /// Finds an event by its id: in memory if this process leased it, else by looking through all.
    private func find(_ id: String, _ database: Database) throws -> Leased? {
        if let known = leased[id] { return known }
        let statement = try database.cachedStatement(sql: "SELECT sequence, length(body) FROM event WHERE id = ?")
        return try Row.fetchOne(statement, arguments: [id]).map { Leased(sequence: $0[0], bytes: $0[1]) }
    }

    /// Deletes an event.
    ///
    /// - Returns: Whether it was still there.
    private mutating func remove(_ event: Leased, _ database: Database) throws -> Bool {
        try database.cachedStatement(sql: "DELETE FROM event WHERE sequence = ?").execute(arguments: [event.sequence])
        guard database.changesCount == 1 else { return false }
        try database.cachedStatement(sql: "DELETE FROM attempt WHERE sequence = ?").execute(arguments: [event.sequence])
        count -= 1
        bytes -= event.bytes
        return true
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
