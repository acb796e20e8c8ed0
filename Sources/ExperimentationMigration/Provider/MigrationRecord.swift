import Experimentation
import Foundation

/// What a move has written down, read without a client.
public struct MigrationRecord: Sendable, Hashable {
    /// The stage.
    public var stage: MigrationStage
    /// The share of users whom the new vendor answers while the move is live.
    public var share: Double
    /// How many users are remembered, with their places.
    public var people: Int
    /// How many of them have a side.
    public var sides: [MigrationSide: Int]

    /// Reads a store.
    ///
    /// - Parameters:
    ///   - plan: The plan; its stage counts where the store has none of this plan.
    ///   - provider: The vendor that is left.
    ///   - store: The store of the client that moves.
    /// - Throws: `ErrorCode.store`.
    public init(
        _ plan: MigrationPlan,
        from provider: any ExperimentationProvider,
        in store: any StateStore
    ) async throws(ExperimentationError) {
        let environment = ClientEnvironment()
        let state = ProviderContext(of: provider, in: store, environment).state
        let kept = try await Migration.kept(in: SealedState(state, log: environment.log))
        let isOfPlan = kept?.planned == plan.stage && kept?.plannedShare == plan.share
        stage = isOfPlan ? kept?.stage ?? plan.stage : plan.stage
        share = isOfPlan ? kept?.share ?? plan.share : plan.share
        (people, sides) = try await People(in: state, log: environment.log).census()
    }
}
