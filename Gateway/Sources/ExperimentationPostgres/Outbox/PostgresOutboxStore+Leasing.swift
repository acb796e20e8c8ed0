@_spi(StoredForm) import Experimentation
import Foundation

/// Leases lanes with their next events.
extension PostgresOutboxStore {
    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        let number = try await number(of: request.destination)
        var request = request
        if let longest = limits.longestLease {
            request.until = min(request.until, request.now.addingTimeInterval(longest / .seconds(1)))
        }
        if let token = request.token {
            let (inner, shard) = LaneRow.inner(token)
            request.token = inner
            return try await lease(request, LaneRow.Name(shard: shard, destination: number))
        }
        if shards == 1 { return try await lease(request, LaneRow.Name(shard: 0, destination: number)) }
        var answers: [LeaseAnswer] = []
        for shard in try await candidates(request, number) {
            let answer = try await lease(request, LaneRow.Name(shard: shard, destination: number))
            if case .leased = answer { return answer }
            answers.append(answer)
        }
        return Self.joined(answers)
    }

    /// Combines the answers of several lanes without a lease.
    static func joined(_ answers: [LeaseAnswer]) -> LeaseAnswer {
        var (next, busy, paused): (Date?, Date?, Date?)
        for answer in answers {
            switch answer {
            case .nothing(let date?): next = min(next ?? date, date)
            case .busy(let date): busy = min(busy ?? date, date)
            case .paused(let date): paused = min(paused ?? date, date)
            case .nothing(nil), .leased, .lost: break
            }
        }
        if let paused { return .paused(until: paused) }
        // A lane's holder may release it at any time, so waiting for the holder takes precedence.
        if let busy { return .busy(until: busy) }
        return .nothing(until: next)
    }

    /// The lanes with events: the caller's own, then free ones, then those of others.
    ///
    /// Each deliverer starts at a different lane, so that several don't compete for the same one.
    private func candidates(_ request: LeaseRequest, _ number: Int64) async throws(ExperimentationError) -> [Int64] {
        let lanes = try await pool.transaction(.reading) { transaction throws(ConnectionFailure) in
            try transaction.rows(
                Statement(
                    """
                    SELECT shard, owner, lease_noted, lease_due, EXISTS (
                      SELECT FROM delivery d
                      WHERE d.destination = l.destination AND d.shard = l.shard AND NOT d.held AND d.seq > l.low)
                    FROM lane l WHERE destination = $1 ORDER BY shard
                    """,
                    .whole(number)
                )
            ).map { row in
                var lane = OutboxLane(of: request.destination)
                lane.owner = row.whole(1)
                lane.lease = OutboxLane.Wait(noted: row.date(2), due: row.date(3))
                return (shard: row.whole(0), lane: lane, isFilled: row.flag(4))
            }
        }
        let first = Int(UInt64(bitPattern: request.owner) % UInt64(max(1, lanes.count)))
        let turned = lanes[first...] + lanes[..<first]
        let own = turned.filter { $0.lane.owner == request.owner }
        let others = turned.filter { $0.lane.owner != request.owner && $0.isFilled }
        return
            (own + others.filter { !$0.lane.isHeld(at: request.now) }
            + others.filter { $0.lane.isHeld(at: request.now) }).map(\.shard)
    }

    /// Whether any lane without a holder or a pause has events that nothing holds back.
    func hasUnclaimedEvents(before date: Date, now: Date) async throws(ExperimentationError) -> Bool {
        try await pool.transaction(.reading) { transaction throws(ConnectionFailure) in
            let lanes = try self.destinationTable.lanes(
                try transaction.rows(LaneRow.reading(nil)),
                transaction
            ).filter { !$0.lane.isHeld(at: now) && !$0.lane.trouble.pause.isOn(at: now) }
            return try !transaction.rows(
                Statement(
                    """
                    SELECT 1 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS l(shard, destination, low)
                    WHERE EXISTS (
                      SELECT FROM delivery d WHERE d.destination = l.destination AND d.shard = l.shard AND NOT d.held
                        AND d.seq > l.low AND (d.due IS NULL OR d.due <= $4) AND d.happened < $5)
                    LIMIT 1
                    """,
                    .wholes(lanes.map(\.name.shard)),
                    .wholes(lanes.map(\.name.destination)),
                    .wholes(lanes.map(\.low)),
                    .date(now),
                    .date(date)
                )
            ).isEmpty
        }
    }

    /// Leases one lane; the request's token is the lane's own.
    private func lease(
        _ request: LeaseRequest,
        _ name: LaneRow.Name
    ) async throws(ExperimentationError) -> LeaseAnswer {
        // Each attempt without an answer has removed unreadable events.
        while true { if let answer = try await answer(request, name) { return answer } }
    }

    /// Leases one lane; `nil` if all events that were read were unreadable, and more may follow.
    private func answer(
        _ request: LeaseRequest,
        _ name: LaneRow.Name
    ) async throws(ExperimentationError) -> LeaseAnswer? {
        try await pool.transaction { transaction throws(ConnectionFailure) in
            let answers = try transaction.ask(LaneRow.locking(name), Self.waits(name))
            guard var row = try self.destinationTable.lanes(answers[0], transaction).first else {
                return .nothing(until: nil)
            }
            switch row.lane.admit(request) {
            case .refused(let answer): return answer
            case .from(let first, let turn):
                var waiting: [[UInt8]: Int64] = [:]
                var next: Date?
                for wait in answers[1] {
                    let span = OutboxLane.Wait(noted: wait.date(2), due: wait.date(3))
                    guard turn.isHeldBack(by: span) else { continue }
                    waiting[wait.bytes(0)] = min(waiting[wait.bytes(0)] ?? .max, wait.whole(1))
                    next = min(next ?? span.due, span.due)
                }
                try self.note(owner: request.owner)
                let (batches, hasMore) = try self.batches(after: first, &row, request, waiting, transaction)
                row.lane.out = max(row.lane.out, batches.last?.last?.sequence ?? 0)
                let isOver = request.token == nil && batches.isEmpty
                if isOver { row.lane.free() }
                for statement in row.writing { transaction.later(statement) }
                if batches.isEmpty, hasMore { return nil }
                if isOver { return .nothing(until: next) }
                return .leased(Lease(token: row.token, batches: batches, rest: hasMore ? .more : .otherLanes))
            }
        }
    }

    private static func waits(_ name: LaneRow.Name) -> Statement {
        Statement(
            """
            SELECT person, seq, noted, due FROM delivery
            WHERE destination = $1 AND shard = $2 AND due IS NOT NULL AND NOT held
            """,
            .whole(name.destination),
            .whole(name.shard)
        )
    }

    private func batches(
        after first: Int64,
        _ row: inout LaneRow,
        _ request: LeaseRequest,
        _ waiting: [[UInt8]: Int64],
        _ transaction: Transaction
    ) throws(ConnectionFailure) -> (batches: [[Envelope]], hasMore: Bool) {
        let most = (max(1, request.batches), max(1, request.count))
        let full = most.0.multipliedReportingOverflow(by: most.1)
        // One more than fit, to show whether more follow, also after unreadable ones.
        let limit = min(full.overflow ? .max : full.partialValue, .max - 1) + 1
        let rows = try transaction.rows(
            Statement(
                """
                SELECT d.seq, d.attempts, e.body FROM delivery d JOIN event e ON e.seq = d.seq
                WHERE d.destination = $1 AND d.shard = $2 AND NOT d.held AND d.seq > $3 AND NOT EXISTS (
                  SELECT FROM unnest($4::bytea[], $5::bigint[]) AS w(person, seq)
                  WHERE w.person = d.person AND w.seq <= d.seq)
                ORDER BY d.seq LIMIT $6
                """,
                .whole(row.name.destination),
                .whole(row.name.shard),
                .whole(max(first, row.low)),
                .blobs(Array(waiting.keys)),
                .wholes(Array(waiting.values)),
                .whole(Int64(limit))
            )
        )
        var batches: [[Envelope]] = []
        var size = 0
        var hasMore = rows.count == limit
        var unreadable: [Int64] = []
        for delivery in rows {
            let body = delivery.bytes(2)
            let envelope: Envelope
            do throws(ExperimentationError) { envelope = try Envelope(stored: body) } catch {
                unreadable.append(delivery.whole(0))
                continue
            }
            if let batch = batches.last, batch.count < most.1, size + body.count <= request.bytes {
                size += body.count
            } else if batches.count < most.0 {
                batches.append([])
                size = body.count
            } else {
                hasMore = true
                break
            }
            var given = envelope
            given.sequence = delivery.whole(0)
            given.attempts = Int(delivery.whole(1))
            batches[batches.count - 1].append(given)
        }
        if !unreadable.isEmpty {
            let gone = try transaction.rows(
                Statement(
                    "DELETE FROM delivery WHERE destination = $1 AND shard = $2 AND NOT held AND seq = ANY($3) RETURNING seq",
                    .whole(row.name.destination),
                    .whole(row.name.shard),
                    .wholes(unreadable)
                )
            )
            row.drop(gone.count, for: .unreadable)
            var lanes = [row]
            try retire(unreadable, by: &lanes, transaction)
            row = lanes[0]
        }
        return (batches, hasMore)
    }
}
