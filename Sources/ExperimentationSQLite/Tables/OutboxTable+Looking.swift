@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

extension OutboxTable {
    private func places(of destination: Destination?) -> [Int] {
        lanes.indices.filter { place in destination.map { lanes[place].lane.destination == $0 } ?? true }
    }

    /// The status of waiting events.
    mutating func status(of destination: Destination?, now: Date, _ database: Database) throws -> OutboxStatus {
        if !extent.isExact { try recount(database) }
        var status = OutboxStatus()
        let places = places(of: destination)
        for place in places { try add(place, to: &status, now, database) }
        status.oldest = try oldest(places, database)
        let isAll = (destination == nil || lanes.count == 1) && known(destination)
        status.bytes = isAll ? try allBytes(database) : try bytes(of: destination, database)
        return status
    }

    private func known(_ destination: Destination?) -> Bool { destination.map { known($0) != nil } ?? true }

    private func add(_ place: Int, to status: inout OutboxStatus, _ now: Date, _ database: Database) throws {
        let (lane, id) = (lanes[place].lane, lanes[place].id)
        func number(_ sql: String, _ arguments: StatementArguments) throws -> Int {
            try Int.fetchOne(database.cachedStatement(sql: sql), arguments: arguments) ?? 0
        }
        let free = try count(place, isHeld: false, database)
        status.held += try count(place, isHeld: true, database)
        let (delayed, due) = try delayed(place, now, beyond: -1, database)
        var next = due
        if lane.trouble.pause.isOn(at: now), free > 0 {
            next = free > delayed ? lane.trouble.pause.due : max(due ?? now, lane.trouble.pause.due)
        }
        if lane.trouble.pause.isOn(at: now) {
            status.delayed += free
        } else {
            var leased = 0
            if lane.isHeld(at: now) {
                leased = try number(
                    "SELECT count(*) FROM delivery WHERE destination = ? AND held = 0 AND sequence > ? AND sequence <= ?",
                    [id, lanes[place].head, lane.out]
                )
                leased -= delayed - (try self.delayed(place, now, beyond: lane.out, database).count)
            }
            status.delayed += delayed
            status.leased += leased
            status.ready += free - delayed - leased
        }
        status.nextAttempt = [next, status.nextAttempt].compactMap(\.self).min()
        try addFailures(place, to: &status, database)
    }

    /// The number of waiting deliveries, held or not.
    private func count(_ place: Int, isHeld: Bool, _ database: Database) throws -> Int {
        // This doesn't use the combined view, which looks up a lane's head again for each row.
        let rows = try HotStatement(
            """
            SELECT (SELECT count(*) FROM delivery WHERE destination = ?1 AND held = ?2 AND sequence > ?3)
                + (SELECT count(*) FROM tail WHERE destination = ?1 AND held = ?2)
            """,
            database
        )
        try rows.bind(lanes[place].id, at: 1)
        try rows.bind(isHeld, at: 2)
        try rows.bind(isHeld ? 0 : lanes[place].head, at: 3)
        defer { rows.reset() }
        return try rows.step() ? Int(rows.int(0)) : 0
    }

    /// When the first event, in the order of acceptance, that is owed to one of these lanes happened.
    private func oldest(_ places: [Int], _ database: Database) throws -> Date? {
        let first = try database.cachedStatement(
            sql: """
                SELECT min(sequence) FROM (
                    SELECT min(sequence) AS sequence FROM delivery WHERE destination = ?1 AND held = 0 AND sequence > ?2
                    UNION ALL SELECT min(sequence) FROM delivery WHERE destination = ?1 AND held = 1
                    UNION ALL SELECT min(sequence) FROM tail WHERE destination = ?1
                )
                """
        )
        let sequences = try places.compactMap {
            try Int64.fetchOne(first, arguments: [lanes[$0].id, lanes[$0].head])
        }
        let date = try database.cachedStatement(sql: "SELECT date FROM event WHERE sequence = ?")
        return try Double.fetchOne(date, arguments: [sequences.min()]).map { Date(timeIntervalSince1970: $0) }
    }

    /// How many deliveries after a sequence are delayed, and when the first of them may be tried.
    ///
    /// `user >= ''` and `+` make the planner use the index of delayed deliveries, which is nearly always empty, and not
    /// go through the whole lane.
    private func delayed(
        _ place: Int,
        _ now: Date,
        beyond sequence: Int64,
        _ database: Database
    ) throws -> (count: Int, due: Date?) {
        let rows = try HotStatement(
            """
            SELECT count(*), min(due) FROM delivery
            WHERE destination = ?1 AND due IS NOT NULL AND user >= '' AND +held = 0
                AND noted - ?2 <= ?3 AND ?3 < due AND due - noted <= ?4 AND +sequence > ?5
            """,
            database
        )
        try bind(place, at: now.timeIntervalSince1970, to: rows)
        try rows.bind(sequence, at: 5)
        defer { rows.reset() }
        guard try rows.step() else { return (0, nil) }
        return (Int(rows.int(0)), rows.double(1).map { Date(timeIntervalSince1970: $0) })
    }

    private func addFailures(_ place: Int, to status: inout OutboxStatus, _ database: Database) throws {
        let (lane, id) = (lanes[place].lane, lanes[place].id)
        let reasons = try database.cachedStatement(
            sql: """
                SELECT reason, count(*) FROM delivery
                WHERE destination = ? AND due IS NOT NULL AND user >= '' AND reason IS NOT NULL GROUP BY reason
                """
        )
        for row in try Row.fetchAll(reasons, arguments: [id]) { status.failures[row[0], default: 0] += row[1] as Int }
        guard let reason = lane.trouble.reason else { return }
        let tried = try database.cachedStatement(
            sql: """
                SELECT count(*) FROM owing
                WHERE destination = ? AND held = 0 AND sequence <= ? AND reason IS NULL
                """
        )
        let count = try Int.fetchOne(tried, arguments: [id, lane.trouble.tried]) ?? 0
        if count > 0 { status.failures[reason, default: 0] += count }
    }

    /// The total size in bytes of the bodies that are still owed to a destination.
    private func allBytes(_ database: Database) throws -> Int {
        guard hasHead else { return extent.bytes }
        let statement = try database.cachedStatement(
            sql: "SELECT coalesce(sum(length(body)), 0) FROM event WHERE sequence IN (SELECT sequence FROM owing)"
        )
        return try Int.fetchOne(statement) ?? 0
    }

    private func bytes(of destination: Destination?, _ database: Database) throws -> Int {
        guard let destination, let place = known(destination) else { return 0 }
        let statement = try database.cachedStatement(
            sql: """
                SELECT coalesce(sum(length(body)), 0) FROM owing CROSS JOIN event ON event.sequence = owing.sequence
                WHERE destination = ? AND held IN (0, 1)
                """
        )
        return try Int.fetchOne(statement, arguments: [lanes[place].id]) ?? 0
    }

    /// The ledger.
    func ledger(of destination: Destination?, _ database: Database) throws -> Ledger {
        var sum = Ledger()
        for place in places(of: destination) {
            var ledger = lanes[place].lane.ledger
            ledger.pending = try count(place, isHeld: false, database) + count(place, isHeld: true, database)
            sum = sum + ledger
        }
        return sum
    }

    /// A page of waiting events in their stored form.
    func waiting(after sequence: Int64, limit: Int, _ database: Database) throws -> [StoredWaitingEvent] {
        let page = try database.cachedStatement(
            sql: "SELECT sequence, body FROM event WHERE sequence > ? ORDER BY sequence LIMIT ?"
        )
        let owed = try database.cachedStatement(
            sql: """
                SELECT held, attempts, reason FROM owing
                WHERE destination = ? AND held IN (0, 1) AND sequence = ?
                """
        )
        return try Row.fetchAll(page, arguments: [sequence, max(1, limit)]).map { row in
            let sequence: Int64 = row[0]
            let deliveries = try lanes.compactMap { lane -> WaitingEvent.Delivery? in
                guard let row = try Row.fetchOne(owed, arguments: [lane.id, sequence]) else { return nil }
                return WaitingEvent.Delivery(
                    to: lane.lane.destination,
                    isHeld: row[0],
                    attempts: row[1] ?? 0,
                    reason: row[2] ?? lane.lane.reason(for: sequence, isHeld: row[0])
                )
            }
            return StoredWaitingEvent(sequence: sequence, body: row[1], deliveries: deliveries)
        }
    }
}

/// A waiting event as read from the file, not yet decoded.
struct StoredWaitingEvent: Sendable {
    var sequence: Int64
    var body: Data
    var deliveries: [WaitingEvent.Delivery]

    /// The event; `nil` if it can't be read, or is no longer owed to any destination.
    var event: WaitingEvent? {
        guard !deliveries.isEmpty, var envelope = try? EnvelopeCoding.decode(Array(body)) else { return nil }
        envelope.sequence = sequence
        envelope.attempts = deliveries.map(\.attempts).max() ?? 0
        return WaitingEvent(envelope: envelope, deliveries: deliveries)
    }
}
