@_spi(StoredForm) import Experimentation
import Foundation
import Synchronization

/// The destinations by number: a cache that never goes stale, because destinations are never deleted, and are cached
/// only once they are committed.
final class DestinationTable: Sendable {
    private struct Numbered: Sendable {
        var number: Int64
        var destination: Destination
    }

    private struct Known {
        var numbers: [Destination: Int64] = [:]
        var destinations: [Int64: Destination] = [:]
    }

    private let pool: ConnectionPool
    private let known = Mutex(Known())

    init(_ pool: ConnectionPool) { self.pool = pool }

    /// The number of a destination, if it is cached.
    func number(of destination: Destination) -> Int64? { known.withLock { $0.numbers[destination] } }

    /// The destination with a number, read from the database if it isn't cached.
    func destination(_ number: Int64, _ transaction: Transaction) throws(ConnectionFailure) -> Destination {
        if let destination = known.withLock({ $0.destinations[number] }) { return destination }
        _ = try all(transaction)
        guard let destination = known.withLock({ $0.destinations[number] }) else {
            throw .store(ExperimentationError(.store, "A lane in PostgreSQL has no destination."))
        }
        return destination
    }

    /// Converts rows to lanes with their destinations.
    func lanes(_ rows: [Row], _ transaction: Transaction) throws(ConnectionFailure) -> [LaneRow] {
        var lanes: [LaneRow] = []
        for row in rows { lanes.append(LaneRow(row, of: try destination(row.whole(1), transaction))) }
        return lanes
    }

    /// All destinations, in the order in which they were created.
    func all(_ transaction: Transaction) throws(ConnectionFailure) -> [Destination] {
        note(try Self.numbered(transaction))
    }

    private static func numbered(_ transaction: Transaction) throws(ConnectionFailure) -> [Numbered] {
        try transaction.rows(Statement("SELECT id, provider, account FROM destination ORDER BY id")).map { row in
            Numbered(
                number: row.whole(0),
                destination: Destination(provider: row.outside(1) ?? "", digest: row.outside(2) ?? "")
            )
        }
    }

    /// Creates missing destinations and their lanes, in the given order.
    func name(_ destinations: [Destination]) async throws(ExperimentationError) {
        let missing = known.withLock { known in destinations.filter { known.numbers[$0] == nil } }
        guard !missing.isEmpty else { return }
        let name = pool.schema
        let numbered = try await pool.transaction { transaction throws(ConnectionFailure) in
            // One transaction at a time: two that create the same destinations in different orders would deadlock.
            transaction.later(Statement("SELECT pg_advisory_xact_lock(hashtextextended($1, 5552))", .text(name)))
            for destination in missing {
                try self.insert(destination, transaction)
            }
            return try Self.numbered(transaction)
        }
        // Cached only now: a number that was rolled back belongs to no destination, and its deliveries would never be
        // carried out.
        _ = note(numbered)
    }

    private func insert(_ destination: Destination, _ transaction: Transaction) throws(ConnectionFailure) {
        let (provider, account) = (Parameter.outside(destination.provider), Parameter.outside(destination.account))
        let rows = try transaction.rows(
            Statement("SELECT 1 FROM destination WHERE provider = $1 AND account = $2", provider, account)
        )
        if !rows.isEmpty { return }
        let long = Date.distantPast
        let made = try transaction.rows(
            Statement(
                "INSERT INTO destination (provider, account) VALUES ($1, $2) RETURNING id",
                provider,
                account
            )
        )
        guard let number = made.first?.whole(0) else { return }
        transaction.later(
            Statement("INSERT INTO intake (shard, destination) SELECT shard, $1 FROM shard", .whole(number))
        )
        transaction.later(
            Statement(
                """
                INSERT INTO lane (shard, destination, lease_noted, lease_due, pause_noted, pause_due)
                SELECT shard, $1, $2, $2, $2, $2 FROM shard
                """,
                .whole(number),
                .date(long)
            )
        )
    }

    private func note(_ all: [Numbered]) -> [Destination] {
        known.withLock { known in
            for each in all {
                known.numbers[each.destination] = each.number
                known.destinations[each.number] = each.destination
            }
        }
        return all.map(\.destination)
    }
}
