import Experimentation
import Foundation

/// Where a move stands, in a store that several instances share: a writer changes only what it means to change.
struct StandingRecord: Sendable {
    private let store: any StateStore
    private let move: String?
    private let account: String?
    private static let key = "migration/stage"

    /// Creates a record in the move's part of a store.
    ///
    /// - Parameters:
    ///   - state: The move's part of a store.
    ///   - move: The name of the move: what another move has written counts as missing. `nil` for the last move.
    ///   - account: The digest of the new vendor's account; `nil` if nothing is written.
    ///   - log: Where damage is logged.
    init(in state: any StateStore, of move: String?, to account: String? = nil, log: any LogSink) {
        store = SealedState(state, log: log)
        (self.move, self.account) = (move, account)
    }

    /// Returns where the move stands, under whichever plan it was written; `nil` if nothing was written.
    func read() async throws(ExperimentationError) -> Standing? {
        try await store.value(for: Self.key).flatMap(Self.standing).flatMap(ofThisMove)
    }

    /// Changes where the move stands, beginning anew if another instance has changed it meanwhile.
    ///
    /// - Parameters:
    ///   - plan: The plan under which it is written.
    ///   - change: Changes what is there, and may refuse to by throwing. Called again after a conflict.
    /// - Returns: Where the move stands now.
    /// - Throws: What `change` throws; ``ErrorCode/store``.
    func update(
        under plan: PlanInForce,
        _ change: (inout Standing) async throws(ExperimentationError) -> Void
    ) async throws(ExperimentationError) -> Standing {
        try await update(under: plan) { (standing, _) throws(ExperimentationError) in try await change(&standing) }
    }

    /// Changes where the move stands, also based on what was stored before the plan was applied.
    ///
    /// - Parameters:
    ///   - plan: The plan under which it is written.
    ///   - change: As in the shorter method; also gets what is stored, under whichever plan.
    /// - Returns: Where the move stands now.
    /// - Throws: What `change` throws; ``ErrorCode/store``.
    func update(
        under plan: PlanInForce,
        _ change: (inout Standing, _ stored: Standing?) async throws(ExperimentationError) -> Void
    ) async throws(ExperimentationError) -> Standing {
        var written = try await store.value(for: Self.key)
        for _ in 0..<32 {
            let kept = written.flatMap(Self.standing)
            let own = kept.flatMap(ofThisMove)
            var standing = own?.under(plan.plan, since: plan.origin) ?? begun(under: plan.plan, after: kept)
            try await change(&standing, own)
            if standing == kept { return standing }
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            guard let data = try? encoder.encode(standing) else { return standing }
            switch try await store.update(Self.key, to: Array(data), if: written) {
            case .updated: return standing
            case .conflict(let other): written = other
            }
        }
        throw ExperimentationError(.store, "Other instances keep changing the stage of the move.")
    }

    /// Where this move stands as it begins.
    private func begun(under plan: MigrationPlan, after former: Standing?) -> Standing {
        var standing = Standing(plan, of: move)
        standing.account = account
        if let former { standing.begin(after: former) }
        return standing
    }

    /// Returns what this move wrote; a record that names no move is from before moves had names, so from this one.
    private func ofThisMove(_ standing: Standing) -> Standing? {
        guard let move else { return standing }
        guard standing.move == nil || standing.move == move else { return nil }
        var own = standing
        own.move = move
        own.account = account ?? own.account
        return own
    }

    private static func standing(_ bytes: [UInt8]) -> Standing? {
        try? JSONDecoder().decode(Standing.self, from: Data(bytes))
    }
}
