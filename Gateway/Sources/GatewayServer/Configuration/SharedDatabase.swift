import Foundation

/// The database that a tenant's instances share; its URL may contain a password and is never shown.
public struct SharedDatabase: Sendable, Hashable {
    /// The URL in libpq's format.
    public var url: String
    /// The schema that holds the tenant's tables.
    public var schema: String
    /// The maximum number of connections.
    public var connections: Int
    /// The time after which other instances deliver what an instance that died had leased.
    public var lease: Duration
    /// The SQLite file for what is accepted while the database is away; `nil` to refuse it.
    public var meanwhile: URL?
    /// How many bytes may wait in that file; more is refused.
    public var meanwhileBytes: Int
    /// How long opening its tables may take if no request waits for them; `nil` for a minute.
    var openingPatience: Duration?

    /// Creates a place for a tenant's data.
    public init(
        url: String,
        schema: String,
        connections: Int = 4,
        lease: Duration = .seconds(30),
        meanwhile: URL? = nil,
        meanwhileBytes: Int = 1_000_000_000
    ) {
        self.meanwhile = meanwhile
        self.meanwhileBytes = meanwhileBytes
        self.url = url
        self.schema = schema
        self.connections = connections
        self.lease = lease
    }
}

extension SharedDatabase: CustomStringConvertible, CustomReflectable {
    /// The schema, without the URL.
    public var description: String { "PostgreSQL, schema \(schema)" }
    /// A mirror of the schema only.
    public var customMirror: Mirror { Mirror(self, children: ["schema": schema]) }
}
