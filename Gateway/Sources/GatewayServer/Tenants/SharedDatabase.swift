import Experimentation
import ExperimentationPostgres
import Foundation

/// The database that a tenant's instances share; its URL may contain a password and is never shown.
public struct SharedDatabase: Sendable, Hashable {
    /// The URL in libpq's format.
    public var url: String
    /// The schema that holds the tenant's tables.
    public var schema: String
    /// The maximum number of connections.
    public var connections: Int
    /// The time after which other instances deliver what a lost one had leased.
    public var lease: Duration
    /// The SQLite file for what is accepted while the database is away; `nil` to refuse it.
    public var meanwhile: URL?

    /// Creates a place for a tenant's data.
    public init(
        url: String,
        schema: String,
        connections: Int = 4,
        lease: Duration = .seconds(30),
        meanwhile: URL? = nil
    ) {
        self.meanwhile = meanwhile
        self.url = url
        self.schema = schema
        self.connections = connections
        self.lease = lease
    }

    /// Opens the file for what is accepted while the database is away, if there is to be one.
    func meanwhile(
        _ environment: ClientEnvironment,
        isAway: @escaping @Sendable () -> Bool
    ) async throws(ExperimentationError) -> Meanwhile? {
        guard let meanwhile else { return nil }
        return try await Meanwhile(
            file: meanwhile,
            scope: schema,
            environment: environment,
            database: DatabaseSight(isAway)
        )
    }

    /// Whether the database can't be reached; what it says when it can is another matter.
    var isAway: Bool {
        get async { await !PostgresStore.answers(url, within: .seconds(2)) }
    }

    func opened() async throws(ExperimentationError) -> PostgresStore {
        try await PostgresStore.open(
            url,
            options: PostgresStoreOptions(schema: schema, connections: connections, longestLease: lease)
        )
    }
}

extension SharedDatabase: CustomStringConvertible, CustomReflectable {
    /// The schema, without the URL.
    public var description: String { "PostgreSQL, schema \(schema)" }
    /// A mirror of the schema only.
    public var customMirror: Mirror { Mirror(self, children: ["schema": schema]) }
}
