@_spi(StoredForm) import Experimentation
import Foundation

/// Reports what waits, from a single snapshot.
extension PostgresOutboxStore {
    func status(of destination: Destination?, now: Date) async throws(ExperimentationError) -> OutboxStatus {
        try await pool.transaction(.reading) { transaction throws(ConnectionFailure) in
            guard let number = try self.number(of: destination, transaction) else { return OutboxStatus() }
            let (lanes, groups, sizes) = try self.groups(number, now, transaction)
            var status = OutboxStatus()
            for row in groups {
                let name = LaneRow.Name(shard: row.whole(0), destination: row.whole(1))
                guard let lane = lanes.first(where: { $0.name == name })?.lane else { continue }
                Self.count(row, lane, in: &status, now)
            }
            if let row = sizes.first {
                status.bytes = Int(row.whole(0))
                if !row.isNull(1) { status.oldest = row.date(1) }
            }
            return status
        }
    }

    private func groups(
        _ number: Int64,
        _ now: Date,
        _ transaction: Transaction
    ) throws(ConnectionFailure) -> ([LaneRow], [Row], [Row]) {
        let answers = try transaction.ask(
            LaneRow.reading(number),
            // The same condition as in `OutboxLane.Wait.isOn`; which events are leased follows from the lane.
            Statement(
                """
                SELECT d.shard, d.destination, d.held, w.waits, d.seq <= l.out, d.seq <= l.tried, d.reason, count(*), min(d.due)
                FROM delivery d JOIN lane l ON l.shard = d.shard AND l.destination = d.destination,
                LATERAL (SELECT coalesce(d.due > $2 AND d.noted - $3 <= $2 AND d.due - d.noted <= $4, false) AS waits) w
                WHERE $1 = 0 OR d.destination = $1
                GROUP BY 1, 2, 3, 4, 5, 6, 7
                """,
                .whole(number),
                .date(now),
                .real(OutboxLane.Wait.clockTolerance),
                .real(OutboxLane.Wait.longest)
            ),
            Statement(
                """
                SELECT sum(length(e.body))::bigint, (
                  SELECT d.happened FROM delivery d WHERE $1 = 0 OR d.destination = $1 ORDER BY d.seq LIMIT 1)
                FROM event e WHERE $1 = 0 OR EXISTS (
                  SELECT FROM delivery d
                  WHERE d.destination = $1 AND d.shard = e.shard AND d.held = ANY('{f,t}') AND d.seq = e.seq)
                """,
                .whole(number)
            )
        )
        return (try destinationTable.lanes(answers[0], transaction), answers[1], answers[2])
    }

    private static func count(_ row: Row, _ lane: OutboxLane, in status: inout OutboxStatus, _ now: Date) {
        let (isHeld, waits, count) = (row.flag(2), row.flag(3), Int(row.whole(7)))
        let isTried = row.flag(5)
        if let reason = row.outside(6) ?? (isTried && !isHeld ? lane.trouble.reason : nil) {
            status.failures[reason, default: 0] += count
        }
        let isPaused = lane.trouble.pause.isOn(at: now)
        if isHeld {
            status.held += count
        } else if waits || isPaused {
            status.delayed += count
            let due = max(waits ? row.date(8) : .distantPast, isPaused ? lane.trouble.pause.due : .distantPast)
            status.nextAttempt = min(status.nextAttempt ?? due, due)
        } else if row.flag(4), lane.isHeld(at: now) {
            status.leased += count
        } else {
            status.ready += count
        }
    }

    func ledger(of destination: Destination?) async throws(ExperimentationError) -> Ledger {
        try await pool.transaction(.reading) { transaction throws(ConnectionFailure) in
            guard let number = try self.number(of: destination, transaction) else { return Ledger() }
            let answers = try transaction.ask(
                Statement(
                    """
                    SELECT (SELECT sum(accepted) FROM intake WHERE $1 = 0 OR destination = $1)::bigint, sum(delivered)::bigint,
                      sum(purged)::bigint, (SELECT count(*) FROM delivery WHERE $1 = 0 OR destination = $1)
                    FROM lane WHERE $1 = 0 OR destination = $1
                    """,
                    .whole(number)
                ),
                Statement(
                    "SELECT reason, sum(count)::bigint FROM dropped WHERE $1 = 0 OR destination = $1 GROUP BY reason",
                    .whole(number)
                )
            )
            var ledger = Ledger()
            if let row = answers[0].first {
                ledger.accepted = Int(row.whole(0))
                ledger.delivered = Int(row.whole(1))
                ledger.purged = Int(row.whole(2))
                ledger.pending = Int(row.whole(3))
            }
            for row in answers[1] {
                ledger.dropped[Ledger.DropReason(rawValue: row.outside(0) ?? "")] = Int(row.whole(1))
            }
            return ledger
        }
    }

    func waiting(after sequence: Int64, limit: Int) async throws(ExperimentationError) -> [WaitingEvent] {
        try await pool.transaction(.reading) { transaction throws(ConnectionFailure) in
            let answers = try transaction.ask(
                LaneRow.reading(nil),
                Statement(
                    """
                    SELECT e.seq, e.body, d.shard, d.destination, d.held, d.attempts, d.reason
                    FROM (SELECT seq, shard, body FROM event WHERE seq > $1 ORDER BY seq LIMIT $2) e
                    JOIN delivery d ON d.destination = ANY(ARRAY(SELECT id FROM destination)) AND d.shard = e.shard
                      AND d.held = ANY('{f,t}') AND d.seq = e.seq
                    ORDER BY e.seq, d.destination
                    """,
                    .whole(sequence),
                    .whole(Int64(max(1, limit)))
                )
            )
            let lanes = Dictionary(
                uniqueKeysWithValues: try self.destinationTable.lanes(answers[0], transaction).map {
                    ($0.name, $0.lane)
                }
            )
            var events: [WaitingEvent] = []
            for row in answers[1] {
                guard let lane = lanes[LaneRow.Name(shard: row.whole(2), destination: row.whole(3))] else { continue }
                let sequence = row.whole(0)
                if events.last?.envelope.sequence != sequence {
                    guard var envelope = try? Envelope(stored: row.bytes(1)) else { continue }
                    envelope.sequence = sequence
                    envelope.attempts = 0
                    events.append(WaitingEvent(envelope: envelope, deliveries: []))
                }
                let place = events.count - 1
                let attempts = Int(row.whole(5))
                events[place].envelope.attempts = max(events[place].envelope.attempts, attempts)
                events[place].deliveries.append(
                    WaitingEvent.Delivery(
                        to: lane.destination,
                        isHeld: row.flag(4),
                        attempts: attempts,
                        reason: row.outside(6) ?? lane.reason(for: sequence, isHeld: row.flag(4))
                    )
                )
            }
            return events
        }
    }

    /// The number of a destination, 0 for all; `nil` for an unknown one.
    private func number(
        of destination: Destination?,
        _ transaction: Transaction
    ) throws(ConnectionFailure) -> Int64? {
        guard let destination else { return 0 }
        if let number = destinationTable.number(of: destination) { return number }
        _ = try destinationTable.all(transaction)
        return destinationTable.number(of: destination)
    }
}
