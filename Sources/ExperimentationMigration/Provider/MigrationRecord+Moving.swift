import Experimentation

extension MigrationRecord {
    /// Moves on or back in a store, for the clients that have it open or open it later; they follow within a few seconds.
    ///
    /// Both vendors are asked for their rules, as far as they publish any, and everything is checked that
    /// ``Migration/move(to:share:)`` checks. Nothing is delivered.
    ///
    /// - Parameters:
    ///   - stage: The stage to go to.
    ///   - share: The share of users whom the new vendor answers while the move is live; as it is if `nil`.
    ///   - provider: Both vendors with the plan.
    ///   - store: The store of the clients that move.
    ///   - environment: The time, ids and log to go by.
    /// - Returns: What is written down then.
    /// - Throws: `ErrorCode.configuration` with everything that stands against it; `ErrorCode.store`. Nothing has changed then.
    public static func move(
        to stage: MigrationStage,
        share: Double? = nil,
        with provider: MigratingProvider,
        in store: any StateStore,
        environment: ClientEnvironment = ClientEnvironment()
    ) async throws(ExperimentationError) -> MigrationRecord {
        let roles = try await provider.start(in: ProviderContext(of: provider, in: store, environment))
        var failure: ExperimentationError?
        do throws(ExperimentationError) {
            try await (roles.extras as? Migration)?.move(to: stage, share: share)
        } catch {
            failure = error
        }
        await roles.stop(environment.time.instant.advanced(by: .seconds(5)))
        if let failure { throw failure }
        return try await MigrationRecord(provider.plan, from: provider.old, in: store)
    }
}
