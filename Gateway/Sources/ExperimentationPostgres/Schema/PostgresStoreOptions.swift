import Experimentation

/// Options of a store in PostgreSQL.
public struct PostgresStoreOptions: Sendable, Hashable {
    /// The schema for the tables; created if it doesn't exist.
    ///
    /// May contain `a` to `z`, `0` to `9` and `_`.
    public var schema: String
    /// The maximum number of connections, each with a thread of its own.
    public var connections: Int
    /// The time limit of an operation, including the wait for a connection.
    public var patience: Duration
    /// The time limit for creating or upgrading the tables, or for waiting until another machine has; `nil` for a
    /// minute, or ``patience`` if that is longer.
    package var openingPatience: Duration?
    /// The number of shards that users are distributed over; `nil` for the existing number, or 16 in a new store.
    ///
    /// One machine at a time delivers a shard to a destination. The number can't be changed later.
    public var shards: Int?
    /// The maximum duration of a lease without renewal; `nil` for the duration that the deliverer asks for.
    ///
    /// After this time, other machines deliver what a machine that is gone had leased. Another machine may repeat a
    /// request that takes longer, under the same ids.
    public var longestLease: Duration?
    /// The maximum number of waiting events on all machines together, split evenly between the shards.
    public var maximumCount: Int
    /// The maximum total size of waiting events, in encoded bytes.
    public var maximumBytes: Int
    /// The maximum size of an event, in bytes.
    public var maximumEventBytes: Int

    /// Creates options.
    public init(
        schema: String = "experimentation",
        connections: Int = 4,
        patience: Duration = .seconds(5),
        shards: Int? = nil,
        longestLease: Duration? = .seconds(30),
        maximumCount: Int = 10_000_000,
        maximumBytes: Int = 10_000_000_000,
        maximumEventBytes: Int = 32_768
    ) {
        self.schema = schema
        self.connections = connections
        self.patience = patience
        self.shards = shards
        self.longestLease = longestLease
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
        self.maximumEventBytes = maximumEventBytes
    }

    /// The time limit for opening, once there is a connection.
    var openingLimit: Duration { openingPatience ?? max(patience, .seconds(60)) }

    /// The maximum number of events per shard.
    func count(for shards: Int) -> Int64 { Int64(max(1, maximumCount / shards)) }

    /// The maximum number of bytes per shard.
    func bytes(for shards: Int) -> Int64 { Int64(max(1, maximumBytes / shards)) }

    func check() throws(ExperimentationError) {
        let known = Set("abcdefghijklmnopqrstuvwxyz0123456789_".utf8)
        guard (1...60).contains(schema.utf8.count), schema.utf8.allSatisfy({ known.contains($0) }) else {
            throw ExperimentationError(.configuration, "A schema's name has 1 to 60 of a to z, 0 to 9 and _.")
        }
        guard shards.map({ (1...StoreSchema.mostShards).contains($0) }) ?? true else {
            throw ExperimentationError(.configuration, "There can be 1 to \(StoreSchema.mostShards) shards.")
        }
        guard (1...100).contains(connections), patience > .zero else {
            throw ExperimentationError(
                .configuration,
                "There can be 1 to 100 connections, and some patience is needed."
            )
        }
    }
}
