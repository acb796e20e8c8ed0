import Experimentation
import Foundation
internal import GRDB

/// What a lease gave, before anybody tries to understand the events.
enum StoredLease: Sendable {
    case leased(LeaseToken, [LeasedBatch])
    case refused(LeaseAnswer)
}

extension OutboxTable {
    // MARK: Leasing

    /// Takes a lane and its next batches.
    mutating func lease(_ request: LeaseRequest, _ database: Database) throws -> StoredLease {
        let place = try place(of: request.destination, database)
        switch lanes[place].lane.admit(request) {
        case .refused(let answer): return .refused(answer)
        case .from(let first, let turn):
            let batches = try batches(after: first, place, request, turn, database)
            if let last = batches.last?.last { lanes[place].lane.out = last }
            let isEmpty = request.token == nil && batches.isEmpty
            if isEmpty { lanes[place].lane.free() }
            try write(place, database)
            if isEmpty { return .refused(.nothing(until: try nextAttempt(place, at: request.now, database))) }
            return .leased(lanes[place].lane.token, batches)
        }
    }

    private func batches(
        after first: Int64,
        _ place: Int,
        _ request: LeaseRequest,
        _ turn: OutboxLane.Turn,
        _ database: Database
    ) throws -> [LeasedBatch] {
        let waiting = try waitingUsers(place, turn, database)
        let rows = try HotStatement(
            """
            SELECT delivery.sequence, user, attempts, length(body), body
            FROM delivery CROSS JOIN event ON event.sequence = delivery.sequence
            WHERE destination = ? AND held = 0 AND delivery.sequence > ? ORDER BY delivery.sequence
            """,
            database
        )
        try rows.bind(lanes[place].id, at: 1)
        try rows.bind(first, at: 2)
        defer { rows.reset() }
        var full: [LeasedBatch] = []
        var batch = LeasedBatch()
        while try rows.step() {
            let sequence = rows.int(0)
            if !waiting.isEmpty, let first = waiting[ExactText(rows.text(1))], first <= sequence { continue }
            let length = Int(rows.int(3))
            if batch.count > 0, batch.count >= request.count || batch.bodies.count + length > request.bytes {
                full.append(batch)
                if full.count >= request.batches { return full }
                batch = LeasedBatch(bytes: batch.bodies.count)
            }
            let attempts = Int(min(max(rows.int(2), 0), 1_000_000))
            batch.add(sequence: sequence, attempts: attempts) { rows.append(4, to: &$0) }
        }
        return batch.count > 0 ? full + [batch] : full
    }

    /// The users of whom an event holds back later ones, each with the first such event.
    private func waitingUsers(
        _ place: Int,
        _ turn: OutboxLane.Turn,
        _ database: Database
    ) throws -> [ExactText: Int64] {
        // As `OutboxLane.Turn` has it; when a round begins, the second and the third line add nothing.
        let rows = try HotStatement(
            """
            SELECT user, min(sequence) FROM delivery
            WHERE destination = ?1 AND due IS NOT NULL AND held = 0 AND (
                noted - ?2 <= ?3 AND ?3 < due AND due - noted <= ?4
                OR noted - ?2 <= ?5 AND ?5 < due AND due - noted <= ?4
                OR noted > ?6
            )
            GROUP BY user
            """,
            database
        )
        try bind(place, at: turn.now.timeIntervalSince1970, to: rows)
        try rows.bind(turn.began.timeIntervalSince1970, at: 5)
        try rows.bind(turn.goesOn ? turn.began.timeIntervalSince1970 : .infinity, at: 6)
        defer { rows.reset() }
        var users: [ExactText: Int64] = [:]
        while try rows.step() { users[ExactText(rows.text(0))] = rows.int(1) }
        return users
    }

    private func nextAttempt(_ place: Int, at now: Date, _ database: Database) throws -> Date? {
        let rows = try HotStatement(
            """
            SELECT min(due) FROM delivery
            WHERE destination = ?1 AND due IS NOT NULL AND held = 0
                AND noted - ?2 <= ?3 AND ?3 < due AND due - noted <= ?4
            """,
            database
        )
        try bind(place, at: now.timeIntervalSince1970, to: rows)
        defer { rows.reset() }
        guard try rows.step(), let due = rows.double(0) else { return nil }
        return Date(timeIntervalSince1970: due)
    }

    /// Binds what tells whether a delivery has to wait: the place, how far a clock may go back, the time, the longest wait.
    func bind(_ place: Int, at now: Double, to statement: HotStatement) throws {
        try statement.bind(lanes[place].id, at: 1)
        try statement.bind(OutboxLane.Wait.clockTolerance, at: 2)
        try statement.bind(now, at: 3)
        try statement.bind(OutboxLane.Wait.longest, at: 4)
    }

    // MARK: Settling

    /// Writes down what became of events.
    ///
    /// - Returns: Whether the lease is still current.
    mutating func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date,
        _ database: Database
    ) throws -> Bool {
        if let first = firstEpochs[token.destination], token.epoch < first { return false }
        let place = try place(of: token.destination, database)
        let isHolder = lanes[place].lane.holds(token)
        var delivered: [Int64] = []
        var dropped: [Ledger.DropReason: [Int64]] = [:]
        for settlement in settlements {
            switch settlement.outcome {
            case .delivered: delivered.append(settlement.sequence)
            case .dropped(let reason, _): dropped[reason, default: []].append(settlement.sequence)
            case .retry(let date, let attempts, let reason):
                if isHolder { try delay(settlement.sequence, place, now, date, attempts, reason, database) }
            }
        }
        var count = 0
        if isHolder {
            count = try remove(delivered.sorted(), place, database)
        } else {
            // One by one: what the present holder has in hand ends its round, what is long gone doesn't.
            for sequence in delivered.sorted() where try remove([sequence], place, database) > 0 {
                count += 1
                lanes[place].lane.disturb(sequence)
            }
        }
        lanes[place].lane.ledger.delivered += count
        if count > 0 { lanes[place].lane.succeed() }
        if isHolder {
            for (reason, sequences) in dropped { try drop(sequences, as: reason, place, database) }
        }
        try write(place, database)
        return lanes[place].lane.isCurrent(token)
    }

    /// Gives events up.
    mutating func drop(
        _ sequences: [Int64],
        as reason: Ledger.DropReason,
        _ place: Int,
        _ database: Database
    ) throws {
        try count(try remove(sequences.sorted(), place, database), as: reason, at: place, database)
        try write(place, database)
    }

    private func delay(
        _ sequence: Int64,
        _ place: Int,
        _ now: Date,
        _ date: Date,
        _ attempts: Int,
        _ reason: String,
        _ database: Database
    ) throws {
        try database.cachedStatement(
            sql: """
                UPDATE delivery SET noted = ?, due = ?, attempts = ?, reason = coalesce(?, reason)
                WHERE destination = ? AND held = 0 AND sequence = ?
                """
        ).execute(
            arguments: [
                now.timeIntervalSince1970, date.timeIntervalSince1970, attempts, reason.isEmpty ? nil : reason,
                lanes[place].id, sequence,
            ]
        )
    }

    /// Deletes deliveries, those with consecutive numbers in one go, and the bodies that nobody else is owed.
    ///
    /// - Parameters:
    ///   - sequences: Their numbers, ascending.
    ///   - place: Whose deliveries.
    ///   - database: Where.
    /// - Returns: How many of them were still there.
    /// - Throws: What the database says.
    private mutating func remove(_ sequences: [Int64], _ place: Int, _ database: Database) throws -> Int {
        let delete = try HotStatement(
            "DELETE FROM delivery WHERE destination = ? AND held = 0 AND sequence BETWEEN ? AND ?",
            database
        )
        var removed = 0
        for range in sequences.consecutive {
            let (first, last) = (sequences[range.lowerBound], sequences[range.upperBound - 1])
            try delete.run(lanes[place].id, first, last)
            removed += delete.changes
        }
        if removed > 0 { try removeBodies(sequences, database) }
        return removed
    }

    /// Deletes the events among these that no destination is owed any more.
    mutating func removeBodies(_ sequences: [Int64], _ database: Database) throws {
        // With a single destination there is nobody else to ask.
        let delete = try HotStatement(
            lanes.count == 1
                ? "DELETE FROM event WHERE sequence BETWEEN ? AND ?"
                : """
                DELETE FROM event WHERE sequence BETWEEN ? AND ? AND NOT EXISTS (
                    SELECT 1 FROM delivery WHERE destination IN (SELECT id FROM destination)
                        AND held IN (0, 1) AND delivery.sequence = event.sequence
                )
                """,
            database
        )
        for range in sequences.consecutive {
            try delete.run(sequences[range.lowerBound], sequences[range.upperBound - 1])
            extent.remove(delete.changes)
        }
    }
}

extension [Int64] {
    /// The ranges of places whose numbers follow each other without a gap; the numbers ascend.
    var consecutive: [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start = 0
        for index in indices.dropFirst() where self[index] > self[index - 1] + 1 {
            ranges.append(start..<index)
            start = index
        }
        return isEmpty ? ranges : ranges + [start..<count]
    }
}
