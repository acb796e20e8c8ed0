@_spi(StoredForm) import Experimentation

/// Consent statements of several users, grouped by what they require.
struct ConsentStatements: Sendable {
    private struct Said {
        var mark: [UInt8]
        var changes: [Bool] = []
    }

    /// Users who grant before they first deny, or never deny: their held events are released first.
    private(set) var grantedFirst: [[UInt8]] = []
    /// Users who deny.
    private(set) var denied: [[UInt8]] = []
    /// Users who grant after having denied.
    private(set) var grantedAgain: [[UInt8]] = []
    /// Users whose last statement is a denial, and those whose last is a grant.
    private(set) var finallyDenied: [[UInt8]] = []
    private(set) var finallyGranted: [[UInt8]] = []
    private(set) var shards: [Int64] = []

    init(_ changes: [ConsentChange], _ person: (String) -> (mark: [UInt8], shard: Int64)) {
        var order: [[UInt8]] = []
        var said: [[UInt8]: [Bool]] = [:]
        var shards: Set<Int64> = []
        for change in changes {
            let (mark, shard) = person(change.userID)
            if said[mark] == nil { order.append(mark) }
            said[mark, default: []].append(change.isGranted)
            shards.insert(shard)
        }
        for mark in order {
            let changes = said[mark] ?? []
            if changes.first == true { grantedFirst.append(mark) }
            if let denial = changes.firstIndex(of: false) {
                denied.append(mark)
                if changes[denial...].contains(true) { grantedAgain.append(mark) }
            }
            if changes.last == true { finallyGranted.append(mark) } else { finallyDenied.append(mark) }
        }
        self.shards = shards.sorted()
    }
}

extension PostgresOutboxStore {
    /// Applies consent statements; all lookups are separate statements after the locks.
    func carryOut(
        _ said: ConsentStatements,
        _ transaction: Transaction
    ) throws(ConnectionFailure) -> ConsentOutcome {
        transaction.later(
            Statement(
                "SELECT FROM shard WHERE shard = ANY($1) ORDER BY shard FOR UPDATE",
                .wholes(said.shards)
            )
        )
        var lanes = try destinationTable.lanes(
            try transaction.rows(LaneRow.locking(shards: said.shards)),
            transaction
        )
        var outcome = ConsentOutcome()
        outcome.released += try release(said.grantedFirst, of: &lanes, transaction)
        outcome.removed += try remove(said.denied, of: &lanes, transaction)
        outcome.released += try release(said.grantedAgain, of: &lanes, transaction)
        transaction.later(Statement("DELETE FROM denied WHERE person = ANY($1)", .blobs(said.finallyGranted)))
        transaction.later(
            Statement(
                "INSERT INTO denied SELECT unnest($1::bytea[]) ON CONFLICT DO NOTHING",
                .blobs(said.finallyDenied)
            )
        )
        for lane in lanes { for statement in lane.writing { transaction.later(statement) } }
        return outcome
    }

    /// Ends denials and releases held events, for users whose shards are locked.
    func release(_ people: Set<[UInt8]>, _ transaction: Transaction) throws(ConnectionFailure) {
        let marks = Array(people)
        let shards = Set(marks.map { Int64((Int($0[0]) << 8 | Int($0[1])) % self.shards) }).sorted()
        transaction.later(Statement("DELETE FROM denied WHERE person = ANY($1)", .blobs(marks)))
        let held = try transaction.rows(
            Statement(
                "SELECT 1 FROM delivery WHERE shard = ANY($1) AND person = ANY($2) AND held LIMIT 1",
                .wholes(shards),
                .blobs(marks)
            )
        )
        // Nothing is held, and nothing can be while the shards are locked, so the lanes need no lock.
        if held.isEmpty { return }
        var lanes = try destinationTable.lanes(try transaction.rows(LaneRow.locking(shards: shards)), transaction)
        _ = try release(marks, of: &lanes, transaction)
        for lane in lanes { for statement in lane.writing { transaction.later(statement) } }
    }

    /// Releases the held events of users.
    ///
    /// - Returns: The number of deliveries.
    private func release(
        _ people: [[UInt8]],
        of lanes: inout [LaneRow],
        _ transaction: Transaction
    ) throws(ConnectionFailure) -> Int {
        if people.isEmpty { return 0 }
        let rows = try transaction.rows(
            Statement(
                """
                UPDATE delivery SET held = false WHERE shard = ANY($1) AND person = ANY($2) AND held
                RETURNING shard, destination, seq
                """,
                .wholes(Array(Set(lanes.map(\.name.shard)))),
                .blobs(people)
            )
        )
        for row in rows {
            let name = LaneRow.Name(shard: row.whole(0), destination: row.whole(1))
            guard let index = lanes.firstIndex(where: { $0.name == name }) else { continue }
            lanes[index].lane.disturb(row.whole(2))
            lanes[index].low = min(lanes[index].low, row.whole(2) - 1)
        }
        return rows.count
    }

    /// Removes the deliveries of users, except their consent signals.
    ///
    /// - Returns: The number of deliveries.
    private func remove(
        _ people: [[UInt8]],
        of lanes: inout [LaneRow],
        _ transaction: Transaction
    ) throws(ConnectionFailure) -> Int {
        if people.isEmpty { return 0 }
        let rows = try transaction.rows(
            Statement(
                """
                DELETE FROM delivery WHERE shard = ANY($1) AND person = ANY($2) AND NOT kept
                RETURNING shard, destination, held, seq
                """,
                .wholes(Array(Set(lanes.map(\.name.shard)))),
                .blobs(people)
            )
        )
        for row in rows {
            let name = LaneRow.Name(shard: row.whole(0), destination: row.whole(1))
            guard let index = lanes.firstIndex(where: { $0.name == name }) else { continue }
            lanes[index].lane.ledger.purged += 1
            if !row.flag(2) { lanes[index].lane.disturb(row.whole(3)) }
        }
        try retire(rows.map { $0.whole(3) }, by: &lanes, transaction)
        return rows.count
    }
}
