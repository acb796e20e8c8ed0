import Experimentation
import Foundation
internal import GRDB

extension OutboxTable {
    /// How far a clock may be set back before waits that were noted earlier are taken for mistakes.
    private static let clockTolerance = 60.0

    /// Takes the next batches to deliver, and keeps others from taking them.
    mutating func lease(_ wanted: LeaseRequest, _ database: Database) throws -> [[LeasedEvent]] {
        now = wanted.now.timeIntervalSince1970
        let until = wanted.until.timeIntervalSince1970
        let taken = try next(wanted, database)
        let mark = try HotStatement(
            """
            INSERT INTO attempt (sequence, leased, noted, due, attempts)
            SELECT sequence, 1, ?1, ?2, 0 FROM event WHERE sequence BETWEEN ?3 AND ?4
            ON CONFLICT (sequence) DO UPDATE SET leased = 1, noted = excluded.noted, due = excluded.due
            """,
            database
        )
        let sequences = taken.joined().map(\.sequence)
        for range in sequences.consecutive(by: \.self) {
            try mark.bind(now, at: 1)
            try mark.bind(until, at: 2)
            try mark.bind(sequences[range.lowerBound], at: 3)
            try mark.bind(sequences[range.upperBound - 1], at: 4)
            try mark.run()
        }
        for event in taken.joined() { leased[event.id] = Leased(sequence: event.sequence, bytes: event.body.count) }
        return taken
    }

    /// How far a row of leases has come: where the last one stopped looking, and whose events stayed behind.
    struct Place: Sendable {
        var now = 0.0
        var sequence: Int64 = 0
        var waiting: Set<String> = []
    }

    /// The next events that may be tried, in batches.
    private mutating func next(_ wanted: LeaseRequest, _ database: Database) throws -> [[LeasedEvent]] {
        let rows = try HotStatement(
            """
            SELECT event.sequence, user, coalesce(noted - ?1 <= ?2 AND ?2 < due, 0), length(body), id,
                coalesce(attempts, 0), body
            FROM event LEFT JOIN attempt ON attempt.sequence = event.sequence
            WHERE event.sequence > ?3 AND held = 0 ORDER BY event.sequence
            """,
            database
        )
        var place = Place(now: now)
        if wanted.goesOn, let last = self.place, last.now == now { place = last }
        self.place = nil
        try rows.bind(Self.clockTolerance, at: 1)
        try rows.bind(now, at: 2)
        try rows.bind(place.sequence, at: 3)
        defer {
            rows.reset()
            self.place = place
        }
        var full: [[LeasedEvent]] = []
        var batch: [LeasedEvent] = []
        var size = 0
        while try rows.step() {
            if rows.int(2) != 0 {
                place.waiting.insert(rows.text(1))
                continue
            }
            if !place.waiting.isEmpty, place.waiting.contains(rows.text(1)) { continue }
            let length = Int(rows.int(3))
            if !batch.isEmpty, batch.count >= wanted.count || size + length > wanted.bytes {
                full.append(batch)
                batch = []
                size = 0
                if full.count >= wanted.batches { return full }
            }
            size += length
            place.sequence = rows.int(0)
            batch.append(
                LeasedEvent(
                    sequence: place.sequence,
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
        var delivered: [Leased] = []
        var dropped: [Ledger.DropReason: [Leased]] = [:]
        for settlement in settlements {
            guard let known = try leased.removeValue(forKey: settlement.id) ?? find(settlement.id, database) else {
                continue
            }
            switch settlement {
            case .delivered: delivered.append(known)
            case .dropped(_, let reason, _): dropped[reason, default: []].append(known)
            case .retry(_, let date, let attempts, let reason):
                try giveBack(known, at: date.timeIntervalSince1970, attempts: attempts, reason: reason, database)
            }
        }
        if delivered.isEmpty, dropped.isEmpty { return }
        try keepSequence(database)
        try add(try remove(delivered, database), to: "delivered", database)
        for (reason, events) in dropped { try add(try remove(events, database), to: reason.rawValue, database) }
    }

    private mutating func giveBack(
        _ event: Leased,
        at due: Double,
        attempts: Int,
        reason: String,
        _ database: Database
    ) throws {
        place = nil
        try database.cachedStatement(
            sql: """
                INSERT INTO attempt (sequence, leased, noted, due, attempts, reason)
                SELECT sequence, 0, ?, ?, ?, ? FROM event WHERE sequence = ?
                ON CONFLICT (sequence) DO UPDATE SET leased = 0, noted = excluded.noted, due = excluded.due,
                    attempts = excluded.attempts, reason = coalesce(excluded.reason, reason)
                """
        ).execute(arguments: [now, due, attempts, reason.isEmpty ? nil : reason, event.sequence])
    }

    /// Finds an event that this process didn't lease by looking through all.
    private func find(_ id: String, _ database: Database) throws -> Leased? {
        let statement = try database.cachedStatement(sql: "SELECT sequence, length(body) FROM event WHERE id = ?")
        return try Row.fetchOne(statement, arguments: [id]).map { Leased(sequence: $0[0], bytes: $0[1]) }
    }

    /// Deletes events, those with consecutive numbers in one go.
    ///
    /// - Returns: How many of them were still there.
    private mutating func remove(_ events: [Leased], _ database: Database) throws -> Int {
        if events.isEmpty { return 0 }
        let events = events.sorted { $0.sequence < $1.sequence }
        let delete = try HotStatement("DELETE FROM event WHERE sequence BETWEEN ? AND ?", database)
        let forget = try HotStatement("DELETE FROM attempt WHERE sequence BETWEEN ? AND ?", database)
        var removed = 0
        for range in events.consecutive(by: \.sequence) {
            for statement in [delete, forget] {
                try statement.bind(events[range.lowerBound].sequence, at: 1)
                try statement.bind(events[range.upperBound - 1].sequence, at: 2)
            }
            try delete.run()
            let deleted = delete.changes
            try forget.run()
            removed += deleted
            count -= deleted
            if deleted == range.count {
                bytes -= events[range].reduce(0) { $0 + $1.bytes }
            } else if deleted > 0 {
                // Which of them others have removed isn't known: what is remembered is an upper bound from now on.
                isExact = false
            }
        }
        return removed
    }

    /// What waits; what was remembered of the rows spares looking at each of them.
    mutating func status(now: Double, _ database: Database) throws -> OutboxStatus {
        if !isExact { try recount(database) }
        var status = OutboxStatus(bytes: bytes)
        let held = try database.cachedStatement(sql: "SELECT count(*) FROM event WHERE held = 1")
        status.held = try Int.fetchOne(held) ?? 0
        let tried = try database.cachedStatement(
            sql: """
                SELECT count(*) FILTER (WHERE leased), count(*) FILTER (WHERE NOT leased),
                    min(due) FILTER (WHERE NOT leased)
                FROM attempt CROSS JOIN event ON event.sequence = attempt.sequence
                WHERE held = 0 AND noted - ? <= ? AND ? < due
                """
        )
        if let row = try Row.fetchOne(tried, arguments: [Self.clockTolerance, now, now]) {
            status.leased = row[0]
            status.delayed = row[1]
            status.nextAttempt = (row[2] as Double?).map(Date.init(timeIntervalSince1970:))
        }
        status.ready = count - status.held - status.leased - status.delayed
        let first = try database.cachedStatement(sql: "SELECT date FROM event ORDER BY sequence LIMIT 1")
        status.oldest = try Double.fetchOne(first).map(Date.init(timeIntervalSince1970:))
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

extension Array {
    /// The ranges of elements whose numbers follow each other without a gap; the numbers ascend.
    fileprivate func consecutive(by number: (Element) -> Int64) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start = 0
        for index in indices.dropFirst() where number(self[index]) > number(self[index - 1]) + 1 {
            ranges.append(start..<index)
            start = index
        }
        return isEmpty ? ranges : ranges + [start..<count]
    }
}
