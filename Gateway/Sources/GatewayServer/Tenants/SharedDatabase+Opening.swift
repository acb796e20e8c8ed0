import Experimentation
import ExperimentationPostgres

extension SharedDatabase {
    /// Opens the file for what is accepted while the database is away, if there is to be one.
    func meanwhile(
        _ environment: ClientEnvironment,
        isAway: @escaping @Sendable () -> Bool
    ) async throws(ExperimentationError) -> Meanwhile? {
        guard let meanwhile else { return nil }
        return try await Meanwhile(
            file: meanwhile,
            scope: schema,
            bytes: meanwhileBytes,
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
