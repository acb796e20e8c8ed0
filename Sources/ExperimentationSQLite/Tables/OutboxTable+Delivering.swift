@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

/// The result of a lease, with events not yet decoded.
enum StoredLease: Sendable {
    case leased(LeaseToken, [LeasedBatch], Lease.Rest)
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
            let waits = try waits(place, turn, database)
            let (batches, hasMore) = try batches(
                after: max(first, lanes[place].head),
                place,
                request,
                leavingOut: waits.users,
                database
            )
            if let last = batches.last?.last { lanes[place].lane.out = last }
            let isEmpty = request.token == nil && batches.isEmpty
            if isEmpty {
                lanes[place].lane.free()
                if extent.count <= Self.headPortion { try clearDelivered(database) }
            }
            try write(place, database)
            if hasMore { return .leased(lanes[place].lane.token, batches, .more) }
            if isEmpty { return .refused(.nothing(until: waits.next)) }
            return .leased(lanes[place].lane.token, batches, .nothing(until: waits.next))
        }
    }

    private mutating func batches(
        after first: Int64,
        _ place: Int,
        _ request: LeaseRequest,
        leavingOut waiting: [ExactText: Int64],
        _ database: Database
    ) throws -> (batches: [LeasedBatch], hasMore: Bool) {
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
            // A retried delivery is also in the index of delayed ones, which the head leaves as it is.
            if rows.int(4) == 0 { lanes[place].front.end() }
            lanes[place].front.add(sequence)
        }
        return (batch.count > 0 ? full + [batch] : full, false)
    }

    /// Returns the users with an event that holds back later ones, each with the first such event, and when the first of
    /// them may be tried.
    private func waits(
        _ place: Int,
        _ turn: OutboxLane.Turn,
        _ database: Database
    ) throws -> (users: [ExactText: Int64], next: Date?) {
        // The rules of `OutboxLane.Turn`; when a round begins, the last line of the condition has no effect.
        let rows = try HotStatement(
            """
            SELECT user, min(sequence), min(
                CASE WHEN noted - ?2 <= ?3 AND ?3 < due AND due - noted <= ?4 THEN due ELSE min(due, ?3) END
            ) FROM delivery
            WHERE destination = ?1 AND due IS NOT NULL AND held = 0 AND (
                noted - ?2 <= ?5 AND ?5 < due AND due - noted <= ?4
                OR noted > ?6 AND noted <= ?3
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
        var next: Double?
        while try rows.step() {
            users[ExactText(rows.text(0))] = rows.int(1)
            if let due = rows.double(2) { next = min(next ?? due, due) }
        }
        return (users, next.map(Date.init(timeIntervalSince1970:)))
    }

    /// Binds what decides whether a delivery has to wait: the place, the clock tolerance, the time, the longest wait.
    func bind(_ place: Int, at now: Double, to statement: HotStatement) throws {
        try statement.bind(lanes[place].id, at: 1)
        try statement.bind(OutboxLane.Wait.clockTolerance, at: 2)
        try statement.bind(now, at: 3)
        try statement.bind(OutboxLane.Wait.longest, at: 4)
    }
}
