import Experimentation

/// Decisions, rulesets and sticky assignments in PostgreSQL, for any number of machines.
final class PostgresStateStore: StateStore {
    private let pool: ConnectionPool
    private let insertions: Insertions

    init(_ pool: ConnectionPool) {
        self.pool = pool
        insertions = Insertions(pool)
    }

    func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        try await pool.transaction(.reading) { transaction throws(ConnectionFailure) in
            try transaction.rows(Self.select(key)).first?.bytes(0)
        }
    }

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        try await pool.transaction { transaction throws(ConnectionFailure) in
            transaction.later(
                value.map { value in
                    Statement(
                        """
                        INSERT INTO state (key, value) VALUES ($1, $2)
                        ON CONFLICT (key) DO UPDATE SET value = excluded.value, written = excluded.written
                        """,
                        .outside(key),
                        .bytes(value)
                    )
                } ?? Statement("DELETE FROM state WHERE key = $1", .outside(key))
            )
        }
    }

    func update(
        _ key: String,
        to value: [UInt8]?,
        if expected: [UInt8]?
    ) async throws(ExperimentationError) -> StateUpdate {
        if expected == nil, let value { return try await insertions.put(value, for: key) }
        return try await pool.transaction { transaction throws(ConnectionFailure) in
            // Locks an existing row, so that the next statement acts on what this one saw.
            let current = try transaction.rows(
                Statement("SELECT value FROM state WHERE key = $1 FOR UPDATE", .outside(key))
            ).first?.bytes(0)
            guard current == expected else { return .conflict(current) }
            guard current != nil else { return .updated }
            transaction.later(
                value.map { value in
                    Statement(
                        "UPDATE state SET value = $2, written = nextval('written') WHERE key = $1",
                        .outside(key),
                        .bytes(value)
                    )
                } ?? Statement("DELETE FROM state WHERE key = $1", .outside(key))
            )
            return .updated
        }
    }

    func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String] {
        try await pool.transaction(.reading) { transaction throws(ConnectionFailure) in
            let end = Self.end(of: prefix)
            return try transaction.rows(
                Statement(
                    "SELECT key FROM state WHERE key >= $1 AND ($2::bytea IS NULL OR key < $2) ORDER BY written",
                    .outside(prefix),
                    .bytes(end)
                )
            ).compactMap { $0.outside(0) }
        }
    }

    func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
        try await pool.transaction { transaction throws(ConnectionFailure) in
            for prefix in prefixes {
                transaction.later(
                    Statement(
                        "DELETE FROM state WHERE key >= $1 AND ($2::bytea IS NULL OR key < $2)",
                        .outside(prefix),
                        .bytes(Self.end(of: prefix))
                    )
                )
            }
        }
    }

    private static func select(_ key: String) -> Statement {
        Statement("SELECT value FROM state WHERE key = $1", .outside(key))
    }

    /// The first key after all keys with a prefix; `nil` if there is none.
    private static func end(of prefix: String) -> [UInt8]? {
        var bytes = Array(prefix.utf8)
        guard !bytes.isEmpty else { return nil }
        // UTF-8 never contains 0xFF, so this can't overflow.
        bytes[bytes.count - 1] += 1
        return bytes
    }
}
