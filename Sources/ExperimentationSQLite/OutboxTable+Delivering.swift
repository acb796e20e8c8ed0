import Experimentation
import Foundation
internal import GRDB

extension OutboxTable {
    /// How far a clock may be set back before waits that were noted earlier are taken for mistakes.
    static let clockTolerance = 60.0

    /// A week: no wait and no lease is longer, also when the clock jumps; one that says so was damaged, and counts for
    /// nothing.
    static let longestWait = 604_800.0

    /// Takes the next batches to deliver, and keeps others from taking them.
    mutating func lease(_ wanted: LeaseRequest, _ database: Database) throws -> [LeasedBatch] {
        now = wanted.now.timeIntervalSince1970
        let taken = try next(wanted, database)
        try addLeases(of: taken.flatMap(\.sequences), until: wanted.until.timeIntervalSince1970, database)
        return taken
    }

    /// How far a row of leases has come: where the last one stopped looking, and whose events stayed behind.
    struct Place: Sendable {
        var now = 0.0
        var sequence: Int64 = 0
        var waiting: Set<String> = []
    }

    /// The next events that may be tried, in batches.
    private mutating func next(_ wanted: LeaseRequest, _ database: Database) throws -> [LeasedBatch] {
        var place = Place(now: now)
        if wanted.goesOn, let last = self.place, last.now == now { place = last }
        self.place = nil
        var leases = try leases(after: place.sequence, database)
        let rows = try HotStatement(
            """
            SELECT event.sequence, user, coalesce(noted - ?1 <= ?2 AND ?2 < due AND due - noted <= ?4, 0),
                length(body), coalesce(attempts, 0), body
            FROM event LEFT JOIN attempt ON attempt.sequence = event.sequence
            WHERE event.sequence > ?3 AND held = 0 ORDER BY event.sequence
            """,
            database
        )
        try rows.bind(Self.clockTolerance, at: 1)
        try rows.bind(now, at: 2)
        try rows.bind(place.sequence, at: 3)
        try rows.bind(Self.longestWait, at: 4)
        defer {
            rows.reset()
            self.place = place
        }
        var full: [LeasedBatch] = []
        var batch = LeasedBatch()
        while try rows.step() {
            let sequence = rows.int(0)
            if rows.int(2) != 0 || leases.contains(sequence) {
                place.waiting.insert(rows.text(1))
                continue
            }
            if !place.waiting.isEmpty, place.waiting.contains(rows.text(1)) { continue }
            let length = Int(rows.int(3))
            if batch.count > 0, batch.count >= wanted.count || batch.bodies.count + length > wanted.bytes {
                full.append(batch)
                if full.count >= wanted.batches { return full }
                batch = LeasedBatch(bytes: batch.bodies.count)
            }
            place.sequence = sequence
            let attempts = Int(min(max(rows.int(4), 0), 1_000_000))
            batch.add(sequence: sequence, attempts: attempts) { rows.append(5, to: &$0) }
        }
        return batch.count > 0 ? full + [batch] : full
    }

    /// Writes down what became of events.
    ///
    /// - Parameters:
    ///   - settlements: What became of them.
    ///   - events: What is remembered of each, in the same order; `nil` is looked for.
    ///   - database: Where.
    /// - Throws: What the database says.
    mutating func settle(_ settlements: [Settlement], _ events: [Leased?], _ database: Database) throws {
        var delivered: [Leased] = []
        var dropped: [Ledger.DropReason: [Leased]] = [:]
        var returned: [Int64] = []
        for (settlement, event) in zip(settlements, events) {
            guard let event = try event ?? find(settlement.id, database) else { continue }
            switch settlement {
            case .delivered: delivered.append(event)
            case .dropped(_, let reason, _): dropped[reason, default: []].append(event)
            case .retry(_, let date, let attempts, let reason):
                // Whoever was so slow that another has it now has nothing to give back.
                if try isLeasedElsewhere(event, database) { continue }
                returned.append(event.sequence)
                try giveBack(event, at: date.timeIntervalSince1970, attempts: attempts, reason: reason, database)
            }
        }
        try endLeases(of: returned, database)
        if !delivered.isEmpty {
            try keepSequence(database)
            try add(try remove(delivered, database), to: "delivered", database)
        }
        for (reason, events) in dropped { try drop(events, as: reason, database) }
    }

    /// Drops leased events.
    mutating func drop(_ events: [Leased], as reason: Ledger.DropReason, _ database: Database) throws {
        try keepSequence(database)
        try add(try remove(events, database), to: reason.rawValue, database)
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
                INSERT INTO attempt (sequence, noted, due, attempts, reason)
                SELECT sequence, ?, ?, ?, ? FROM event WHERE sequence = ?
                ON CONFLICT (sequence) DO UPDATE SET noted = excluded.noted, due = excluded.due,
                    attempts = excluded.attempts, reason = coalesce(excluded.reason, reason)
                """
        ).execute(arguments: [now, due, attempts, reason.isEmpty ? nil : reason, event.sequence])
    }

    /// Finds an event that this process didn't lease by looking through all.
    private func find(_ id: String, _ database: Database) throws -> Leased? {
        let statement = try database.cachedStatement(sql: "SELECT sequence, length(body) FROM event WHERE id = ?")
        return try Row.fetchOne(statement, arguments: [id]).map { Leased(sequence: $0[0], bytes: $0[1]) }
    }

    /// Deletes events and their leases, those with consecutive numbers in one go.
    ///
    /// - Returns: How many of them were still there.
    private mutating func remove(_ events: [Leased], _ database: Database) throws -> Int {
        if events.isEmpty { return 0 }
        let events = events.sorted { $0.sequence < $1.sequence }
        let delete = try HotStatement("DELETE FROM event WHERE sequence BETWEEN ? AND ?", database)
        let forget = try HotStatement("DELETE FROM attempt WHERE sequence BETWEEN ? AND ?", database)
        try endLeases(of: events.map(\.sequence), database)
        var removed = 0
        for range in events.consecutive(by: \.sequence) {
            let (first, last) = (events[range.lowerBound].sequence, events[range.upperBound - 1].sequence)
            try delete.run(first, last)
            let deleted = delete.changes
            try forget.run(first, last)
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
        let leased = try database.cachedStatement(
            sql: """
                SELECT count(*) FROM lease CROSS JOIN event ON event.sequence BETWEEN first AND last
                WHERE held = 0 AND noted - ?1 <= ?2 AND ?2 < due AND due - noted <= ?3
                """
        )
        let times = [Self.clockTolerance, now, Self.longestWait]
        status.leased = try Int.fetchOne(leased, arguments: StatementArguments(times)) ?? 0
        let delayed = try database.cachedStatement(
            sql: """
                SELECT count(*), min(due) FROM attempt CROSS JOIN event ON event.sequence = attempt.sequence
                WHERE held = 0 AND noted - ?1 <= ?2 AND ?2 < due AND due - noted <= ?3
                """
        )
        if let row = try Row.fetchOne(delayed, arguments: StatementArguments(times)) {
            status.delayed = row[0]
            status.nextAttempt = (row[1] as Double?).map(Date.init(timeIntervalSince1970:))
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
}

extension Array {
    /// The ranges of elements whose numbers follow each other without a gap; the numbers ascend.
    func consecutive(by number: (Element) -> Int64) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start = 0
        for index in indices.dropFirst() where number(self[index]) > number(self[index - 1]) + 1 {
            ranges.append(start..<index)
            start = index
        }
        return isEmpty ? ranges : ranges + [start..<count]
    }
}
