import Experimentation
import Foundation

/// A move's stored record, read without a client.
public struct MigrationRecord: Sendable, Hashable {
    /// The stage.
    public var stage: MigrationStage
    /// The share of users that the new vendor leads in the stage `live`.
    public var share: Double
    /// The number of users with a record.
    public var people: Int
    /// The number of users pinned to each side.
    public var sides: [MigrationSide: Int]
    /// For each vendor, the number of events that it doesn't support and that were delivered to the other one, over all
    /// instances and runs; a killed process may lose the counts of one batch.
    public var unsupported: [MigrationSide: Int]

    /// Reads a store.
    ///
    /// - Parameters:
    ///   - plan: The plan; its stage applies if the store has none for it.
    ///   - provider: The old vendor.
    ///   - new: The new vendor; `nil` for the new vendor of the last move in the store.
    ///   - store: The store of the client that moves.
    /// - Throws: `ErrorCode.store`.
    public init(
        _ plan: MigrationPlan,
        from provider: any ExperimentationProvider,
        to new: (any ExperimentationProvider)? = nil,
        in store: any StateStore
    ) async throws(ExperimentationError) {
        let environment = ClientEnvironment()
        let state = ProviderContext(of: provider, in: store, environment).state
        let name = new.map { plan.name(to: $0.destination) }
        let kept = try await StandingRecord(in: state, of: name, log: environment.log).read()
        let standing = kept?.under(plan) ?? Standing(plan)
        (stage, share) = (standing.stage, standing.share)
        let move = name ?? kept?.move
        unsupported = try await UnsupportedRecord(in: state, of: move, log: environment.log).read()
        (people, sides) = try await People(in: state, log: environment.log).census(of: move)
    }
}
