import Experimentation

extension MigrationRecord {
    /// Changes the stage in a store; clients that use the store follow within a few seconds.
    ///
    /// Asks both vendors for their rules, if they publish any, and checks everything that ``Migration/move(to:share:)``
    /// checks, beginning where the move stands. The plan's own stage isn't checked: it counts as applied once a move is
    /// written. Delivers nothing.
    ///
    /// - Parameters:
    ///   - stage: The target stage.
    ///   - share: The share of users that the new vendor leads in the stage `live`; unchanged if `nil`.
    ///   - provider: Both vendors with the plan.
    ///   - store: The store of the clients that move.
    ///   - environment: Clock, ids and log.
    /// - Returns: The resulting record.
    /// - Throws: `ErrorCode.configuration` with all objections; `ErrorCode.store`. In both cases nothing has changed.
    public static func move(
        to stage: MigrationStage,
        share: Double? = nil,
        with provider: MigratingProvider,
        in store: any StateStore,
        environment: ClientEnvironment = ClientEnvironment()
    ) async throws(ExperimentationError) -> MigrationRecord {
        // The provider isn't started like a client's: a plan that couldn't start mustn't keep operators from moving
        // back, and a move that is refused leaves the store as it was.
        let migration = try await provider.begin(in: ProviderContext(of: provider, in: store, environment))
        var failure: ExperimentationError?
        do throws(ExperimentationError) {
            try await migration.move(to: stage, share: share, isOutside: true)
        } catch {
            failure = error
        }
        await migration.stop(by: environment.time.instant.advanced(by: .seconds(5)))
        if let failure { throw failure }
        return try await MigrationRecord(provider.plan, from: provider.old, to: provider.new, in: store)
    }
}
