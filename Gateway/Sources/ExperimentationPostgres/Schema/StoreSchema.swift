import CPostgres
import Experimentation

/// The tables and their migrations.
///
/// | Table | Content | Written under the lock of |
/// |---|---|---|
/// | `shard` | a shard's next sequence number, and how much waits there | its row |
/// | `destination` | every destination ever used | |
/// | `intake` | what each destination was ever owed | the shard |
/// | `lane` | a destination's lane in a shard: holder, pause, ledger | its row |
/// | `dropped` | drop counts by reason | the lane |
/// | `event` | an event, once | the shard, a lane, the row |
/// | `delivery` | an event not yet delivered to a destination | the shard or the lane |
/// | `denied` | users who deny consent, by digest | the shard |
/// | `state` | everything else, by key | its row |
/// | `leader` | who fetches an account's rules, and until when | its row |
/// | `published` | an account's rules as last fetched, and its kill switch | its row |
/// | `incarnation` | a random word that a crash of the server erases | |
///
/// Locks are taken in the order shards, lanes (by shard, then destination), rows, which rules out deadlocks.
enum StoreSchema {
    /// The migrations from each version to the next; published ones never change.
    static let steps: [[String]] = [
        [
            "CREATE TABLE store (version integer NOT NULL, shards smallint NOT NULL, salt bytea NOT NULL)",
            """
            CREATE TABLE shard (shard smallint PRIMARY KEY, next bigint NOT NULL DEFAULT 1, count bigint NOT NULL DEFAULT 0,
              bytes bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50)
            """,
            """
            CREATE TABLE destination (id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, provider bytea NOT NULL,
              account bytea NOT NULL, UNIQUE (provider, account))
            """,
            """
            CREATE TABLE intake (shard smallint, destination smallint, accepted bigint NOT NULL DEFAULT 0,
              PRIMARY KEY (shard, destination)) WITH (fillfactor = 50)
            """,
            """
            CREATE TABLE lane (shard smallint, destination smallint, owner bigint NOT NULL DEFAULT 0,
              epoch bigint NOT NULL DEFAULT 0, revision bigint NOT NULL DEFAULT 0,
              lease_noted float8 NOT NULL, lease_due float8 NOT NULL, out bigint NOT NULL DEFAULT 0,
              pause_noted float8 NOT NULL, pause_due float8 NOT NULL, reason bytea, tried bigint NOT NULL DEFAULT 0,
              low bigint NOT NULL DEFAULT 0, delivered bigint NOT NULL DEFAULT 0, purged bigint NOT NULL DEFAULT 0,
              freed_count bigint NOT NULL DEFAULT 0, freed_bytes bigint NOT NULL DEFAULT 0,
              PRIMARY KEY (shard, destination)) WITH (fillfactor = 50)
            """,
            """
            CREATE TABLE dropped (shard smallint, destination smallint, reason bytea, count bigint NOT NULL,
              PRIMARY KEY (shard, destination, reason))
            """,
            """
            CREATE TABLE event (seq bigint PRIMARY KEY, shard smallint NOT NULL, id bytea NOT NULL, priority smallint NOT NULL,
              body bytea NOT NULL)
            """,
            "ALTER TABLE event ALTER COLUMN body SET STORAGE EXTERNAL",
            "CREATE INDEX event_room ON event (shard, priority, seq)",
            """
            CREATE TABLE delivery (destination smallint, shard smallint, held boolean, seq bigint, person bytea NOT NULL,
              kept boolean NOT NULL, happened float8 NOT NULL, noted float8, due float8, attempts integer NOT NULL DEFAULT 0,
              reason bytea, PRIMARY KEY (destination, shard, held, seq))
            """,
            "CREATE INDEX delivery_person ON delivery (shard, person)",
            "CREATE INDEX delivery_due ON delivery (destination, shard) WHERE due IS NOT NULL",
            "CREATE INDEX delivery_age ON delivery USING brin (happened) WITH (pages_per_range = 16, autosummarize = on)",
            "CREATE TABLE denied (person bytea PRIMARY KEY)",
            "CREATE SEQUENCE written",
            """
            CREATE TABLE state (key bytea PRIMARY KEY, value bytea NOT NULL, written bigint NOT NULL DEFAULT nextval('written'))
            """,
            // Over time, far more rows pass through these tables than they contain at any moment.
            """
            ALTER TABLE event SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 1000,
              autovacuum_vacuum_insert_scale_factor = 0.05)
            """,
            """
            ALTER TABLE delivery SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 1000,
              autovacuum_vacuum_insert_scale_factor = 0.05)
            """,
        ],
        [
            """
            CREATE TABLE leader (name bytea PRIMARY KEY, owner bytea NOT NULL, epoch bigint NOT NULL, until timestamptz NOT NULL)
              WITH (fillfactor = 50)
            """,
            """
            CREATE TABLE published (name bytea PRIMARY KEY, revision bigint NOT NULL, epoch bigint NOT NULL,
              attempted timestamptz NOT NULL, disabled boolean NOT NULL, validator bytea, body bytea, failure bytea,
              reason bytea)
            """,
            "ALTER TABLE published ALTER COLUMN body SET STORAGE EXTERNAL",
        ],
        [
            // Unlogged, so that PostgreSQL empties it in crash recovery and on promotion.
            "CREATE UNLOGGED TABLE incarnation (one boolean PRIMARY KEY DEFAULT true CHECK (one), word uuid NOT NULL)",
            "INSERT INTO incarnation (word) VALUES (gen_random_uuid())",
        ],
    ]

    /// The opened schema.
    struct Opened: Sendable {
        var shards: Int
        var salt: [UInt8]
    }

    /// Creates or migrates the tables; concurrent calls take turns.
    static func open(
        _ pool: ConnectionPool,
        shards: Int?,
        within limit: Duration
    ) async throws(ExperimentationError) -> Opened {
        let name = pool.schema
        return try await pool.transaction(.repeatable, within: limit) { transaction throws(ConnectionFailure) in
            let answers = try transaction.ask(
                Statement("SELECT pg_advisory_xact_lock(hashtextextended($1, 5551))", .text(name)),
                Statement("SELECT to_regclass('store') IS NOT NULL"),
                Statement("SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", .text(name))
            )
            let (found, hasSchema) = (answers[1][0].flag(0), answers[2][0].flag(0))
            var version = 0
            if found {
                let row = try transaction.rows(Statement("SELECT version, shards, salt FROM store"))[0]
                version = Int(row.whole(0))
                guard version <= steps.count else {
                    throw .store(
                        ExperimentationError(
                            .store,
                            "The store in PostgreSQL has version \(version); this program knows \(steps.count). It was not touched."
                        )
                    )
                }
                if let shards, shards != Int(row.whole(1)) {
                    throw .store(
                        ExperimentationError(
                            .configuration,
                            "The store in PostgreSQL has \(row.whole(1)) shards and can't have \(shards): the order of events hangs on it."
                        )
                    )
                }
                if version == steps.count { return Opened(shards: Int(row.whole(1)), salt: row.bytes(2)) }
            } else if !hasSchema {
                // Created only if it is needed: PostgreSQL requires the right to create a schema even if it exists. The
                // schema's name was validated with the options.
                transaction.later(Statement("CREATE SCHEMA IF NOT EXISTS \"\(name)\""))
            }
            for statement in steps[version...].joined() { transaction.later(Statement(statement)) }
            if found {
                transaction.later(Statement("UPDATE store SET version = $1", .whole(Int64(steps.count))))
            } else {
                transaction.later(
                    Statement(
                        "INSERT INTO store SELECT $1, $2, decode(replace(gen_random_uuid()::text, '-', ''), 'hex')",
                        .whole(Int64(steps.count)),
                        .whole(Int64(shards ?? defaultShards))
                    )
                )
                transaction.later(
                    Statement(
                        "INSERT INTO shard (shard) SELECT generate_series(0, $1 - 1)",
                        .whole(Int64(shards ?? defaultShards))
                    )
                )
            }
            let row = try transaction.rows(Statement("SELECT shards, salt FROM store"))[0]
            return Opened(shards: Int(row.whole(0)), salt: row.bytes(1))
        }
    }

    private static let defaultShards = 16
    /// The maximum number of shards, because sequence numbers and lane tokens can distinguish only so many.
    static let mostShards = 256
}
