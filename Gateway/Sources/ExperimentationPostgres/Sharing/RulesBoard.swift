import Experimentation
import Foundation

/// The tables in which instances agree on who fetches the rules, and through which they share the result.
///
/// All times are the database's: no instance's clock decides which instance leads or whether rules are due.
struct RulesBoard: Sendable {
    let pool: ConnectionPool
    /// The account that the rules belong to.
    let name: String
    private let owner = UUID().uuidString

    init(_ pool: ConnectionPool, name: String) {
        self.pool = pool
        self.name = name
    }

    /// Reads the published row; `nil` if nothing has been published yet.
    func look() async throws(ExperimentationError) -> PublishedRow? {
        try await pool.transaction(.reading) { transaction throws(ConnectionFailure) in
            try transaction.rows(self.select).first.map(PublishedRow.init)
        }
    }

    /// Takes the lease if it is free and the rules are still due.
    ///
    /// - Parameters:
    ///   - lease: How long other instances wait for the result.
    ///   - isDue: Whether the published row is due; evaluated under the lock, because another instance may just have
    ///     published rules.
    /// - Returns: The term; `nil` if the lease is taken or the rules aren't due.
    /// - Throws: `ErrorCode.store`.
    func lead(
        for lease: Duration,
        if isDue: @escaping @Sendable (PublishedRow?) -> Bool
    ) async throws(ExperimentationError) -> LeaderTerm? {
        try await pool.transaction { transaction throws(ConnectionFailure) in
            let taken = try transaction.rows(
                Statement(
                    """
                    INSERT INTO leader (name, owner, epoch, until)
                    VALUES ($1, $2, 1, clock_timestamp() + $3 * interval '1 second')
                    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, epoch = leader.epoch + 1, until = excluded.until
                    WHERE leader.until <= clock_timestamp() RETURNING epoch
                    """,
                    .outside(self.name),
                    .outside(self.owner),
                    .real(lease / .seconds(1))
                )
            )
            guard let epoch = taken.first?.whole(0) else { return nil }
            let before = try transaction.rows(self.select).first.map(PublishedRow.init)
            guard isDue(before) else {
                transaction.later(self.release(epoch))
                return nil
            }
            return LeaderTerm(epoch: epoch, before: before)
        }
    }

    /// Publishes the vendor's answer, unless a later term has begun.
    ///
    /// The kill switch may change while the vendor is asked. It keeps its new state then, because the vendor's answer
    /// may be older, and the revision increases from the current one.
    ///
    /// - Parameters:
    ///   - row: The row to publish.
    ///   - term: The term in which the vendor was asked.
    /// - Returns: The published row; `nil` if the term is over, in which case nothing is written.
    /// - Throws: `ErrorCode.store`.
    func publish(_ row: PublishedRow, under term: LeaderTerm) async throws(ExperimentationError) -> PublishedRow? {
        let before = term.before?.revision ?? 0
        return try await pool.transaction { transaction throws(ConnectionFailure) in
            let leads = try transaction.rows(
                Statement(
                    "SELECT 1 FROM leader WHERE name = $1 AND epoch = $2 FOR UPDATE",
                    .outside(self.name),
                    .whole(term.epoch)
                )
            )
            guard !leads.isEmpty else { return nil }
            let written = try transaction.rows(
                Statement(
                    """
                    INSERT INTO published (name, revision, epoch, attempted, disabled, validator, body, failure, reason)
                    VALUES ($1, $2, $3, clock_timestamp(), $4, $5, $6, $7, $8)
                    ON CONFLICT (name) DO UPDATE SET revision = published.revision + $2, epoch = excluded.epoch,
                      attempted = excluded.attempted, validator = excluded.validator, body = excluded.body,
                      failure = excluded.failure, reason = excluded.reason,
                      disabled = CASE WHEN published.revision = $9 THEN excluded.disabled ELSE published.disabled END
                    WHERE published.epoch <= excluded.epoch RETURNING \(PublishedRow.columns)
                    """,
                    .outside(self.name),
                    .whole(row.revision - before),
                    .whole(term.epoch),
                    .flag(row.isDisabled),
                    .bytes(row.validator.map { Array($0.utf8) }),
                    .bytes(row.body),
                    .bytes(row.failure.map { Array($0.code.rawValue.utf8) }),
                    .bytes(row.failure.map { Array($0.message.utf8) }),
                    .whole(before)
                )
            )
            transaction.later(self.release(term.epoch))
            return written.first.map(PublishedRow.init)
        }
    }

    /// Turns the kill switch on or off for all instances.
    ///
    /// - Returns: Whether the switch changed.
    /// - Throws: `ErrorCode.store`.
    func setDisabled(_ isDisabled: Bool) async throws(ExperimentationError) -> Bool {
        try await pool.transaction { transaction throws(ConnectionFailure) in
            try !transaction.rows(
                Statement(
                    """
                    INSERT INTO published (name, revision, epoch, attempted, disabled) VALUES ($1, 1, 0, 'epoch', $2)
                    ON CONFLICT (name) DO UPDATE SET revision = published.revision + 1, disabled = excluded.disabled
                    WHERE published.disabled <> excluded.disabled RETURNING 1
                    """,
                    .outside(self.name),
                    .flag(isDisabled)
                )
            ).isEmpty
        }
    }

    /// Notifies the other instances, which would otherwise notice within a second.
    ///
    /// Runs in a separate transaction after the change, because committing a transaction that notifies takes a
    /// server-wide lock in PostgreSQL.
    func notify() async {
        _ = try? await pool.transaction { transaction throws(ConnectionFailure) in
            transaction.later(Statement("SELECT pg_notify($1, '')", .text(self.pool.schema)))
        }
    }

    private var select: Statement {
        Statement("SELECT \(PublishedRow.columns) FROM published WHERE name = $1", .outside(name))
    }

    private func release(_ epoch: Int64) -> Statement {
        Statement(
            "UPDATE leader SET until = '-infinity' WHERE name = $1 AND epoch = $2",
            .outside(name),
            .whole(epoch)
        )
    }
}
