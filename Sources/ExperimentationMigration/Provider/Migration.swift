import Experimentation
import Foundation
import Synchronization

/// A move under way: where it stands, and how it is moved on or back.
///
/// Find it by `client.extras(as: Migration.self)`. The stage is kept in the client's store, so that every instance with that
/// store follows within a few seconds; a plan with another stage than the last one had counts over what is kept.
public final class Migration: Sendable {
    struct Standing: Sendable, Hashable, Codable {
        var stage: MigrationStage
        var share: Double
        /// What the plan said when this was written.
        var planned: MigrationStage
        var plannedShare: Double
        /// Whether the new vendor has dealt with users by itself.
        var hasDealt = false
    }

    private struct State {
        var standing: Standing
        var read: ContinuousClock.Instant?
        var flagRead: ContinuousClock.Instant?
        var held: [String] = []
        var seen: [MigrationSide: [VendorExperiment]] = [:]
        var watchers: [Int: AsyncStream<MigrationReport>.Continuation] = [:]
        var nextWatcher = 0
    }

    /// The plan.
    public let plan: MigrationPlan
    let old: Party
    let new: Party
    let people: People
    let tally: Tally
    let shadows: ShadowQueue
    let environment: ClientEnvironment
    private let store: any StateStore
    private let state: Mutex<State>
    private static let key = "migration/stage"
    /// How long a stage that was read is taken for the store's.
    private static let patience = Duration.seconds(2)

    init(
        _ plan: MigrationPlan,
        old: Party,
        new: Party,
        in context: ProviderContext,
        imported: AssignmentTable? = nil
    ) {
        self.plan = plan
        self.old = old
        self.new = new
        let log = context.environment.log
        store = SealedState(context.state, log: log)
        if let imported {
            people = People(in: context.state, log: log) { user in imported.variations(of: user) }
        } else {
            people = People(in: context.state, log: log)
        }
        tally = Tally(plan)
        shadows = ShadowQueue(plan.shadow)
        environment = context.environment
        let standing = Standing(stage: plan.stage, share: plan.share, planned: plan.stage, plannedShare: plan.share)
        state = Mutex(State(standing: standing))
    }

    // MARK: Where it stands

    /// The stage as this instance knows it.
    public var stage: MigrationStage { state.withLock { $0.standing.stage } }

    /// The share of users whom the new vendor answers while the move is live.
    public var share: Double { state.withLock { $0.standing.share } }

    /// Why the move couldn't go where it was last told to go; empty if it could.
    public var held: [String] { state.withLock { $0.held } }

    func party(_ side: MigrationSide) -> Party { side == .old ? old : new }

    var standing: Standing { state.withLock { $0.standing } }

    /// The stage as the store has it, read anew every few seconds.
    func current() async throws(ExperimentationError) -> Standing {
        let now = environment.time.instant
        let isDue = state.withLock { state in
            guard let read = state.read else { return true }
            return read.advanced(by: Self.patience) < now
        }
        if isDue { try await reread(now) }
        return standing
    }

    /// Whether the flag of the vendor that doesn't answer is to be read by now; if so, it counts as read.
    func isStageFlagDue(every interval: Duration) -> Bool {
        let now = environment.time.instant
        return state.withLock { state in
            if let before = state.flagRead, before.advanced(by: interval) > now { return false }
            state.flagRead = now
            return true
        }
    }

    /// What a store has of the stage.
    static func kept(in store: any StateStore) async throws(ExperimentationError) -> Standing? {
        try await store.value(for: key).flatMap { try? JSONDecoder().decode(Standing.self, from: Data($0)) }
    }

    private func reread(_ now: ContinuousClock.Instant) async throws(ExperimentationError) {
        let kept = try await Self.kept(in: store)
        state.withLock { state in
            state.read = now
            guard let kept, kept.planned == plan.stage, kept.plannedShare == plan.share else { return }
            if kept.share != state.standing.share { tally.restartSides(share: kept.share) }
            state.standing = kept
        }
    }

    // MARK: Moving

    /// Moves on or back.
    ///
    /// - Parameters:
    ///   - stage: The stage to go to; the one it is in, to change the share alone.
    ///   - share: The share of users whom the new vendor answers while the move is live, from 0 to 1; as it is if `nil`.
    /// - Throws: `ErrorCode.configuration` with everything that stands against it: the experiments to finish first, what isn't
    ///   mapped, an alarm of the sample-ratio test. `ErrorCode.store` if it can't be written down. Nothing has changed then.
    public func move(to stage: MigrationStage, share: Double? = nil) async throws(ExperimentationError) {
        let before = try await current()
        let share = share ?? before.share
        guard share.isFinite, (0...1).contains(share) else {
            throw ExperimentationError(.configuration, "The share: expected a number from 0 to 1, found \(share)")
        }
        let reasons = await objections(to: stage, from: before)
        if !reasons.isEmpty {
            state.withLock { $0.held = reasons }
            throw ExperimentationError(
                .configuration,
                "The move to \(stage) is held: " + reasons.joined(separator: "; ")
            )
        }
        var after = before
        (after.stage, after.share) = (stage, share)
        (after.planned, after.plannedShare) = (plan.stage, plan.share)
        try await write(after)
        state.withLock { state in
            state.held = []
            state.standing = after
            state.read = environment.time.instant
        }
        if share != before.share { tally.restartSides(share: share) }
        environment.log.log(.info, "migration.stage", "The move is at \(stage), with a share of \(share).")
        announce()
    }

    /// Notes that the new vendor has dealt with a user by itself in an experiment of both.
    func noteDealt() async {
        var standing = standing
        guard !standing.hasDealt else { return }
        standing.hasDealt = true
        state.withLock { $0.standing.hasDealt = true }
        try? await write(standing)
    }

    private func write(_ standing: Standing) async throws(ExperimentationError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(standing) else { return }
        try await store.setValue(Array(data), for: Self.key)
    }

    // MARK: Experiments

    /// The experiments of a vendor's rules; none where it is asked for each user, or doesn't answer.
    public func experiments(of side: MigrationSide) async -> [VendorExperiment] {
        (try? await party(side).experiments()) ?? []
    }

    // MARK: Reporting

    /// The reports from now on, the present one first; one whenever the stage changes, and with every ``announce()``.
    public func reports() -> AsyncStream<MigrationReport> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: MigrationReport.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let number = state.withLock { state in
            state.nextWatcher += 1
            state.watchers[state.nextWatcher] = continuation
            return state.nextWatcher
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.watchers[number] = nil }
        }
        continuation.yield(report)
        return stream
    }

    /// Sends the present report to whoever listens.
    public func announce() {
        let watchers = state.withLock { Array($0.watchers.values) }
        guard !watchers.isEmpty else { return }
        let report = report
        for watcher in watchers { watcher.yield(report) }
    }

    /// Ends: drops shadows that wait, and the streams.
    func stop() {
        shadows.close()
        let watchers = state.withLock { state in
            defer { state.watchers = [:] }
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.finish() }
    }
}

extension Migration {
    /// Whether a shadow is under way or waits.
    public var isComparing: Bool { shadows.counts.running > 0 || shadows.counts.waiting > 0 }

    /// Whether a vendor can be told which variations users have: by its stickiness where it decides here, or by overrides.
    public func canTell(_ side: MigrationSide) -> Bool { party(side).canBeTold }

    /// Which vendor gave an assignment that a session of this move shows; `nil` if none of them did.
    public static func side(of assignment: Assignment) -> MigrationSide? { MarkedCatalogues.side(of: assignment) }
}
