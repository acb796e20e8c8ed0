@_spi(StoredForm) import Experimentation
import Foundation

/// Settles events; the transaction that deletes a delivery also counts it, so that nothing is counted twice.
extension PostgresOutboxStore {
    func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        let (inner, shard) = LaneRow.inner(token)
        let name = LaneRow.Name(shard: shard, destination: try await number(of: token.destination))
        return try await pool.transaction { transaction throws(ConnectionFailure) in
            let locked = try transaction.rows(LaneRow.locking(name))
            guard var row = try self.destinationTable.lanes(locked, transaction).first else { return false }
            let isHolder = row.lane.holds(inner)
            let ended = settlements.filter { settlement in
                switch settlement.outcome {
                case .delivered: true
                case .dropped: isHolder
                case .retry: false
                }
            }
            try self.end(ended, &row, isHolder: isHolder, transaction)
            if isHolder { Self.delay(settlements, name, now, transaction) }
            for statement in row.writing { transaction.later(statement) }
            return row.lane.isCurrent(inner)
        }
    }

    /// Deletes delivered and dropped deliveries, and counts those that existed.
    private func end(
        _ settlements: [Settlement],
        _ row: inout LaneRow,
        isHolder: Bool,
        _ transaction: Transaction
    ) throws(ConnectionFailure) {
        if settlements.isEmpty { return }
        let gone = try transaction.rows(
            Statement(
                """
                DELETE FROM delivery d USING unnest($3::bigint[], $4::bytea[]) AS a(seq, id), event e
                WHERE d.destination = $1 AND d.shard = $2 AND NOT d.held AND d.seq = a.seq AND e.seq = a.seq AND e.id = a.id
                RETURNING d.seq
                """,
                .whole(row.name.destination),
                .whole(row.name.shard),
                .wholes(settlements.map(\.sequence)),
                .blobs(settlements.map { Array($0.id.utf8) })
            )
        ).map { $0.whole(0) }
        if gone.isEmpty { return }
        let outcomes = Dictionary(
            settlements.map { ($0.sequence, $0.outcome) },
            uniquingKeysWith: { first, _ in first }
        )
        for sequence in gone {
            if case .dropped(let reason, _)? = outcomes[sequence] {
                row.drop(for: reason)
            } else {
                row.lane.ledger.delivered += 1
                row.lane.succeed()
                if !isHolder { row.lane.disturb(sequence) }
            }
        }
        var lanes = [row]
        try retire(gone, by: &lanes, transaction)
        row = lanes[0]
        let left = try transaction.rows(
            Statement(
                """
                SELECT seq FROM delivery WHERE destination = $1 AND shard = $2 AND NOT held AND seq > $3 ORDER BY seq LIMIT 1
                """,
                .whole(row.name.destination),
                .whole(row.name.shard),
                .whole(row.low)
            )
        )
        // Events still being accepted have higher numbers than any visible one, because the shard assigns numbers in
        // order.
        row.low = left.first.map { $0.whole(0) - 1 } ?? max(row.low, gone.max() ?? 0)
    }

    private static func delay(
        _ settlements: [Settlement],
        _ name: LaneRow.Name,
        _ now: Date,
        _ transaction: Transaction
    ) {
        let retries = settlements.compactMap { settlement -> (Settlement, Date, Int, String)? in
            guard case .retry(let date, let attempts, let reason) = settlement.outcome else { return nil }
            return (settlement, date, attempts, reason)
        }
        if retries.isEmpty { return }
        transaction.later(
            Statement(
                """
                UPDATE delivery d SET noted = $8, due = a.due, attempts = a.attempts, reason = coalesce(a.reason, d.reason)
                FROM unnest($3::bigint[], $4::bytea[], $5::float8[], $6::bigint[], $7::bytea[])
                  AS a(seq, id, due, attempts, reason), event e
                WHERE d.destination = $1 AND d.shard = $2 AND NOT d.held AND d.seq = a.seq AND e.seq = a.seq AND e.id = a.id
                """,
                .whole(name.destination),
                .whole(name.shard),
                .wholes(retries.map(\.0.sequence)),
                .blobs(retries.map { Array($0.0.id.utf8) }),
                .reals(retries.map { $0.1.timeIntervalSinceReferenceDate }),
                .wholes(retries.map { Int64($0.2) }),
                .blobs(retries.map { $0.3.isEmpty ? nil : Array($0.3.utf8) }),
                .date(now)
            )
        )
    }

    /// Deletes the bodies of events without remaining deliveries.
    ///
    /// The rows are locked first. Otherwise the last two destinations could each see the other's delivery, and the body
    /// would never be deleted.
    func retire(_ sequences: [Int64], by lanes: inout [LaneRow], _ transaction: Transaction) throws(ConnectionFailure) {
        if sequences.isEmpty { return }
        let gone = try transaction.ask(
            Statement("SELECT FROM event WHERE seq = ANY($1) ORDER BY seq FOR UPDATE", .wholes(sequences)),
            Statement(
                """
                WITH gone AS (
                  DELETE FROM event e WHERE e.seq = ANY($1) AND NOT EXISTS (
                    SELECT FROM delivery d WHERE d.destination = ANY(ARRAY(SELECT id FROM destination))
                      AND d.shard = e.shard AND d.held = ANY('{f,t}') AND d.seq = e.seq)
                  RETURNING shard, length(body) AS size)
                SELECT shard, count(*), sum(size)::bigint FROM gone GROUP BY shard
                """,
                .wholes(sequences)
            )
        )[1]
        for row in gone {
            guard let index = lanes.firstIndex(where: { $0.name.shard == row.whole(0) }) else { continue }
            lanes[index].freedCount += row.whole(1)
            lanes[index].freedBytes += row.whole(2)
        }
    }
}
