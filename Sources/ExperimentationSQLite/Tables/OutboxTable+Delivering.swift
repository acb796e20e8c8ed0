@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

/// The result of a lease, with events not yet decoded.
enum StoredLease: Sendable {
    case leased(LeaseToken, [LeasedBatch], hasMore: Bool)
    case refused(LeaseAnswer)
}

extension OutboxTable {
    /// Takes a lane and its next batches.
    mutating func lease(_ request: LeaseRequest, _ database: Database) throws -> StoredLease {
        let place = try place(of: request.destination, database)
        switch lanes[place].lane.admit(request) {
        case .refused(let answer): return .refused(answer)
        case .from(let first, let turn):
            try writeTail(database)
            try dropEvicted(before: place, database)
            if !turn.goesOn { lanes[place].front.begin() }
            let (batches, hasMore) = try batches(after: max(first, lanes[place].head), place, request, turn, database)
            if let last = batches.last?.last { lanes[place].lane.out = last }
            let isEmpty = request.token == nil && batches.isEmpty
            if isEmpty {
                lanes[place].lane.free()
                if extent.count <= Self.headPortion { try clearDelivered(database) }
            }
            try write(place, database)
            if isEmpty { return .refused(.nothing(until: try nextAttempt(place, at: request.now, database))) }
            return .leased(lanes[place].lane.token, batches, hasMore: hasMore)
        }
    }

    private mutating func batches(
        after first: Int64,
        _ place: Int,
        _ request: LeaseRequest,
        _ turn: OutboxLane.Turn,
        _ database: Database
    ) throws -> (batches: [LeasedBatch], hasMore: Bool) {
        let waiting = try waitingUsers(place, turn, database)
        let rows = try HotStatement(
            """
            SELECT delivery.sequence, attempts, body, delivery.user, due IS NULL
            FROM delivery LEFT JOIN event ON event.sequence = delivery.sequence
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
            if !waiting.isEmpty, let first = waiting[ExactText(rows.text(3))], first <= sequence {
                lanes[place].front.end()
                continue
            }
            let length = rows.count(2)
            // A damaged file: there is nothing to send.
            if length == 0 {
                lanes[place].front.end()
                continue
            }
            if batch.count > 0, batch.count >= request.count || batch.bodies.count + length > request.bytes {
                full.append(batch)
                if full.count >= request.batches { return (full, true) }
                batch = LeasedBatch(bytes: batch.bodies.count)
            }
            let attempts = Int(min(max(rows.int(1), 0), 1_000_000))
            batch.add(sequence: sequence, attempts: attempts) { rows.append(2, to: &$0) }
            // One that was retried is in the index of delayed ones, too, which the head leaves as it is.
            if rows.int(4) == 0 { lanes[place].front.end() }
            lanes[place].front.add(sequence)
        }
        return (batch.count > 0 ? full + [batch] : full, false)
    }

    /// Returns the users with an event that holds back later ones, each with the first such event.
    private func waitingUsers(
        _ place: Int,
        _ turn: OutboxLane.Turn,
        _ database: Database
    ) throws -> [ExactText: Int64] {
        // The rule of `OutboxLane.Turn`; when a round begins, the second and the third line have no effect.
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
            WHERE destination = ?1 AND due IS NOT NULL AND user >= '' AND +held = 0
                AND noted - ?2 <= ?3 AND ?3 < due AND due - noted <= ?4
            """,
            database
        )
        try bind(place, at: now.timeIntervalSince1970, to: rows)
        defer { rows.reset() }
        guard try rows.step(), let due = rows.double(0) else { return nil }
        return Date(timeIntervalSince1970: due)
    }

    /// Binds what decides whether a delivery has to wait: the place, the clock tolerance, the time, the longest wait.
    func bind(_ place: Int, at now: Double, to statement: HotStatement) throws {
        try statement.bind(lanes[place].id, at: 1)
        try statement.bind(OutboxLane.Wait.clockTolerance, at: 2)
        try statement.bind(now, at: 3)
        try statement.bind(OutboxLane.Wait.longest, at: 4)
    }
}
