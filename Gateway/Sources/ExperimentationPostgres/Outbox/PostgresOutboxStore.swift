@_spi(StoredForm) import Experimentation
import Foundation
import Synchronization

/// An outbox in PostgreSQL for any number of machines.
///
/// Users are distributed over shards. Each destination has a lane per shard, held by one deliverer at a time: this
/// keeps each user's events in order while several machines deliver to one destination.
final class PostgresOutboxStore: OutboxStore {
    let pool: ConnectionPool
    let limits: PostgresStoreOptions
    let shards: Int
    let salt: [UInt8]
    let destinationTable: DestinationTable
    private let overflows = Mutex(0)
    private let holding = Mutex(Holding())
    let undecided = UndecidedEvents()

    /// The owners that hold lanes through this store.
    private struct Holding {
        var owners: Set<Int64> = []
        /// Whether all lanes have been released for good.
        var isOver = false
    }

    init(_ pool: ConnectionPool, _ opened: StoreSchema.Opened, _ options: PostgresStoreOptions) {
        self.pool = pool
        limits = options
        shards = opened.shards
        salt = opened.salt
        destinationTable = DestinationTable(pool)
    }

    /// The user's digest and shard.
    func person(_ userID: String) -> (mark: [UInt8], shard: Int64) {
        let mark = Identity.mark(of: userID, salt: salt)
        return (mark, Int64((Int(mark[0]) << 8 | Int(mark[1])) % shards))
    }

    /// The number of a destination, creating it if it is unknown.
    func number(of destination: Destination) async throws(ExperimentationError) -> Int64 {
        try await destinationTable.name([destination])
        guard let number = destinationTable.number(of: destination) else {
            throw ExperimentationError(.store, "The destination \(destination) can't be written down.")
        }
        return number
    }

    /// The schema, in the database as the address names it, and a digest of random bytes from the schema's creation.
    var contentsID: String? {
        let mark = Identity.mark(of: pool.schema, salt: salt).map { String($0, radix: 16) }
        return "\(pool.address.shown) \(pool.schema) \(mark.joined(separator: "."))"
    }

    var overflowed: Int { overflows.withLock { $0 } }

    /// Notes an owner that is about to hold a lane, within the transaction that records it.
    ///
    /// - Throws: ``ConnectionFailure/store(_:)`` once all lanes have been released, because this one would never be.
    func note(owner: Int64) throws(ConnectionFailure) {
        let isOver = holding.withLock { holding in
            if !holding.isOver { holding.owners.insert(owner) }
            return holding.isOver
        }
        if isOver { throw .store(ExperimentationError(.store, "The store is closed.")) }
    }

    /// Releases all lanes taken through this store, so that others needn't wait for the leases to expire.
    ///
    /// After that, no lane is taken any more, not even by a transaction that is under way.
    func letGo() async {
        let owners = holding.withLock { holding in
            holding.isOver = true
            return Array(holding.owners)
        }
        if owners.isEmpty { return }
        _ = try? await pool.transaction { transaction throws(ConnectionFailure) in
            let rows = try transaction.rows(LaneRow.locking(owners: owners))
            for var row in try self.destinationTable.lanes(rows, transaction) {
                row.lane.free()
                for statement in row.writing { transaction.later(statement) }
            }
        }
    }

    func noteOverflow(_ count: Int) { if count > 0 { overflows.withLock { $0 += count } } }

    func append(
        _ events: [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?] {
        let arrivals = Arrivals(events, limit: limits.maximumEventBytes, person)
        if arrivals.all.isEmpty { return arrivals.refusals }
        try await destinationTable.name(arrivals.destinations)
        let refused = Mutex(arrivals.refusals)
        let outcome = await pool.outcome { transaction throws(ConnectionFailure) in
            var acceptance = Acceptance(arrivals, self, transaction, now: now)
            let result = try acceptance.carryOut()
            refused.withLock { $0 = result.0 }
            return result
        }
        switch outcome {
        case .success(let (refusals, overflowed)):
            noteOverflow(overflowed)
            return refusals
        case .failure(let failure):
            if case .undecided(let mark, _) = failure {
                let refusals = refused.withLock { $0 }
                let open = arrivals.all.filter { refusals[$0.place] == nil }
                undecided.note(open.map(\.event.envelope.id), mark)
            }
            throw failure.error
        }
    }

    func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        if changes.isEmpty { return ConsentOutcome() }
        let statements = ConsentStatements(changes, person)
        return try await pool.transaction { transaction throws(ConnectionFailure) in
            try self.carryOut(statements, transaction)
        }
    }

    func isCurrent(_ token: LeaseToken) async throws(ExperimentationError) -> Bool {
        let (inner, shard) = LaneRow.inner(token)
        let number = try await number(of: token.destination)
        return try await pool.transaction(.reading) { transaction throws(ConnectionFailure) in
            let rows = try transaction.rows(
                Statement(
                    "SELECT owner, epoch, revision FROM lane WHERE shard = $1 AND destination = $2",
                    .whole(shard),
                    .whole(number)
                )
            )
            guard let row = rows.first else { return false }
            return row.whole(0) != 0 && row.whole(1) == inner.epoch && row.whole(2) == inner.revision
        }
    }

    func release(
        _ token: LeaseToken,
        pause: DeliveryPause?,
        now: Date
    ) async throws(ExperimentationError) {
        let (inner, shard) = LaneRow.inner(token)
        let number = try await number(of: token.destination)
        // A pause that a vendor asks for applies to all of its lanes.
        let isAll = pause?.until != nil
        try await pool.transaction { transaction throws(ConnectionFailure) in
            let locking =
                isAll
                ? LaneRow.locking(destination: number)
                : LaneRow.locking(LaneRow.Name(shard: shard, destination: number))
            var lanes = try self.destinationTable.lanes(try transaction.rows(locking), transaction)
            guard let own = lanes.firstIndex(where: { $0.name.shard == shard }), lanes[own].lane.holds(inner) else {
                return
            }
            lanes[own].lane.release(inner, pause: pause, now: now)
            for index in lanes.indices {
                if isAll { lanes[index].lane.trouble.pause = lanes[own].lane.trouble.pause }
                for statement in lanes[index].writing { transaction.later(statement) }
            }
        }
    }

    func destinations() async throws(ExperimentationError) -> [Destination] {
        try await pool.transaction(.reading) { transaction throws(ConnectionFailure) in
            try self.destinationTable.all(transaction)
        }
    }

    /// Returns immediately: removed rows are no longer visible to any statement.
    ///
    /// Their bytes disappear with PostgreSQL's vacuum, from the write-ahead log with its archive, and from backups when
    /// those are deleted.
    func finishErasing() async throws(ExperimentationError) {}
}
