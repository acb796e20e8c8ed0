import Experimentation

/// How a store in PostgreSQL is used.
public struct PostgresStoreOptions: Sendable, Hashable {
    /// The schema that holds the tables; made if it isn't there.
    ///
    /// Of `a` to `z`, `0` to `9` and `_`.
    public var schema: String
    /// How many connections at most, each with a thread of its own.
    public var connections: Int
    /// How long an operation may take, the wait for a connection included.
    public var patience: Duration
    /// Into how many parts the users are divided; `nil` for what the store has, 16 for a new one.
    ///
    /// Each part is delivered to a destination by one machine at a time. The number can't be changed.
    public var shards: Int?
    /// How long a lane stays with a deliverer that says nothing more, if that asks for longer; `nil` for as long as it asks.
    ///
    /// What a machine held that is gone is delivered by others after this time. A request that takes longer may be
    /// repeated by another machine, under the same ids.
    public var longestLease: Duration?
    /// How many events wait at most, all machines together; each shard has its part.
    public var maximumCount: Int
    /// How many bytes their written forms take at most.
    public var maximumBytes: Int
    /// How large one event may be.
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

    /// A shard's part of the events.
    func count(for shards: Int) -> Int64 { Int64(max(1, maximumCount / shards)) }

    /// A shard's part of the bytes.
    func bytes(for shards: Int) -> Int64 { Int64(max(1, maximumBytes / shards)) }

    func check() throws(ExperimentationError) {
        let known = Set("abcdefghijklmnopqrstuvwxyz0123456789_".utf8)
        guard (1...60).contains(schema.utf8.count), schema.utf8.allSatisfy({ known.contains($0) }) else {
            throw ExperimentationError(.configuration, "A schema's name has 1 to 60 of a to z, 0 to 9 and _.")
        }
        guard shards.map({ (1...LaneRow.mostShards).contains($0) }) ?? true else {
            throw ExperimentationError(.configuration, "There can be 1 to \(LaneRow.mostShards) shards.")
        }
        guard (1...100).contains(connections), patience > .zero else {
            throw ExperimentationError(
                .configuration,
                "There can be 1 to 100 connections, and some patience is needed."
            )
        }
    }
}
