@_spi(StoredForm) import Experimentation
import Foundation

/// Removes events that have expired or whose destination is abandoned.
extension PostgresOutboxStore {
    func expire(
        before date: Date,
        owedTo destination: Destination,
        now: Date
    ) async throws(ExperimentationError) -> Int {
        let number = try await number(of: destination)
        return try await pool.transaction { transaction throws(ConnectionFailure) in
            let old = try transaction.rows(
                Statement(
                    "SELECT 1 FROM delivery WHERE happened < $1 AND destination = $2 LIMIT 1",
                    .date(date),
                    .whole(number)
                )
            )
            // Usually no event has expired, so that no lane needs to be locked.
            if old.isEmpty { return 0 }
            var lanes = try self.lock(number, transaction)
            let gone = try transaction.rows(
                Statement(
                    """
                    DELETE FROM delivery d USING unnest($3::bigint[], $4::bigint[]) AS l(shard, out)
                    WHERE d.happened < $1 AND d.destination = $2 AND d.shard = l.shard AND (d.held OR d.seq > l.out)
                    RETURNING d.shard, d.held, d.seq
                    """,
                    .date(date),
                    .whole(number),
                    .wholes(lanes.map(\.name.shard)),
                    .wholes(lanes.map { $0.givenOut(at: now) })
                )
            )
            return try self.count(gone, by: &lanes, transaction) { $0.drop(for: .expired) }
        }
    }

    func remove(
        owedTo destination: Destination,
        as account: RemovalAccount
    ) async throws(ExperimentationError) -> Int {
        let number = try await number(of: destination)
        return try await pool.transaction { transaction throws(ConnectionFailure) in
            var lanes = try self.lock(number, transaction)
            let gone = try transaction.rows(
                Statement(
                    "DELETE FROM delivery WHERE destination = $1 AND NOT (kept AND $2) RETURNING shard, held, seq",
                    .whole(number),
                    .flag(account == .purged)
                )
            )
            return try self.count(gone, by: &lanes, transaction) { lane in
                switch account {
                case .purged: lane.lane.ledger.purged += 1
                case .dropped(let reason): lane.drop(for: reason)
                }
            }
        }
    }

    private func lock(_ number: Int64, _ transaction: Transaction) throws(ConnectionFailure) -> [LaneRow] {
        try destinationTable.lanes(
            try transaction.rows(LaneRow.locking(destination: number)),
            transaction
        )
    }

    /// Counts removed deliveries and writes the lanes.
    private func count(
        _ gone: [Row],
        by lanes: inout [LaneRow],
        _ transaction: Transaction,
        as account: (inout LaneRow) -> Void
    ) throws(ConnectionFailure) -> Int {
        for row in gone {
            guard let index = lanes.firstIndex(where: { $0.name.shard == row.whole(0) }) else { continue }
            account(&lanes[index])
            if !row.flag(1) { lanes[index].lane.disturb(row.whole(2)) }
        }
        try retire(gone.map { $0.whole(2) }, by: &lanes, transaction)
        for lane in lanes { for statement in lane.writing { transaction.later(statement) } }
        return gone.count
    }
}
