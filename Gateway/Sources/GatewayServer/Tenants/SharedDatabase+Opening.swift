import Experimentation
import ExperimentationPostgres

extension SharedDatabase {
    /// Opens the file for what is accepted while the database is away, if one is configured.
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

    /// Whether opening failed because the database can't be reached or is too slow; `false` if the database refused.
    func isAway(after error: ExperimentationError) async -> Bool {
        guard error.code == .store else { return false }
        if error.cause is LateAnswer { return true }
        return await !PostgresStore.answers(url, within: .seconds(2))
    }

    /// Opens the store; if `isPatient`, opening its tables may take longer than an ordinary operation.
    func opened(isPatient: Bool) async throws(ExperimentationError) -> PostgresStore {
        var options = PostgresStoreOptions(schema: schema, connections: connections, longestLease: lease)
        options.openingPatience = isPatient ? openingPatience : options.patience
        return try await PostgresStore.open(url, options: options)
    }
}
