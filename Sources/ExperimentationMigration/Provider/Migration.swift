import Experimentation
import Foundation
import Synchronization

/// A move in progress: its stage, and how to change it.
///
/// Get it with `client.extras(as: Migration.self)`. The stage is kept in the client's store, and every instance with
/// that store follows within a few seconds. A plan whose stage differs from the previous plan's overrides the stored
/// stage.
public final class Migration: Sendable {
    struct Standing: Sendable, Hashable, Codable {
        var stage: MigrationStage
        var share: Double
        /// The stage of the plan under which this was written.
        var planned: MigrationStage
        var plannedShare: Double
        /// Whether the new vendor has assigned users on its own.
        var hasDealt = false
    }

    private struct State {
        var standing: Standing
        var read: ContinuousClock.Instant?
        var flagRead: ContinuousClock.Instant?
        var held: [String] = []
        var watchers: [Int: AsyncStream<MigrationReport>.Continuation] = [:]
        var nextWatcher = 0
        var isStopped = false
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
    /// How long a stage that was read from the store counts as current.
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

    // MARK: Stage

    /// The stage known to this instance.
    public var stage: MigrationStage { state.withLock { $0.standing.stage } }

    /// The share of users that the new vendor leads in the stage `live`.
    public var share: Double { state.withLock { $0.standing.share } }

    /// Why the last requested move was refused; empty if it wasn't.
    public var held: [String] { state.withLock { $0.held } }

    func party(_ side: MigrationSide) -> Party { side == .old ? old : new }

    var standing: Standing { state.withLock { $0.standing } }

    /// Returns the store's stage, reading it again after a few seconds.
    func current() async throws(ExperimentationError) -> Standing {
        let now = environment.time.instant
        let isDue = state.withLock { state in
            guard let read = state.read else { return true }
            return read.advanced(by: Self.patience) < now
        }
        if isDue { try await reread(now) }
        return standing
    }

    /// Whether the stage flag is due to be read; if so, counts it as read.
    func isStageFlagDue(every interval: Duration) -> Bool {
        let now = environment.time.instant
        return state.withLock { state in
            if let before = state.flagRead, before.advanced(by: interval) > now { return false }
            state.flagRead = now
            return true
        }
    }

    /// Returns the stage in a store.
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

    /// Moves to another stage, forward or back.
    ///
    /// - Parameters:
    ///   - stage: The target stage; the current one to change only the share.
    ///   - share: The share of users that the new vendor leads in the stage `live`, from 0 to 1; unchanged if `nil`.
    /// - Throws: `ErrorCode.configuration` with all objections: experiments to finish first, unmapped variations, a
    ///   sample-ratio alarm. `ErrorCode.store` if it can't be stored. In both cases nothing has changed.
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

    /// Records that the new vendor has assigned a user on its own in a mapped experiment.
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

    /// Returns the experiments of a vendor's rules; empty if it publishes none or doesn't answer.
    public func experiments(of side: MigrationSide) async -> [VendorExperiment] {
        (try? await party(side).experiments()) ?? []
    }

    // MARK: Reports

    /// The reports, beginning with the current one; a new one follows each change of stage and each ``announce()``.
    ///
    /// Ends with the client; afterwards it is the last report alone.
    public func reports() -> AsyncStream<MigrationReport> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: MigrationReport.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let number: Int? = state.withLock { state in
            if state.isStopped { return nil }
            state.nextWatcher += 1
            state.watchers[state.nextWatcher] = continuation
            return state.nextWatcher
        }
        continuation.onTermination = { [weak self] _ in
            if let number { self?.state.withLock { $0.watchers[number] = nil } }
        }
        continuation.yield(report)
        if number == nil { continuation.finish() }
        return stream
    }

    /// Sends the current report to all listeners.
    public func announce() {
        let watchers = state.withLock { Array($0.watchers.values) }
        guard !watchers.isEmpty else { return }
        let report = report
        for watcher in watchers { watcher.yield(report) }
    }

    /// Stops: drops waiting shadows and ends the streams.
    func stop() {
        shadows.close()
        let watchers = state.withLock { state in
            state.isStopped = true
            defer { state.watchers = [:] }
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.finish() }
    }
}

extension Migration {
    /// Whether a shadow is running or waiting.
    public var isComparing: Bool { shadows.counts.running > 0 || shadows.counts.waiting > 0 }

    /// Whether a vendor can be told of users' variations: by its stickiness if it decides on this device, or by
    /// overrides.
    public func canTell(_ side: MigrationSide) -> Bool { party(side).canBeTold }

    /// Returns the vendor that made an assignment shown by a session of this move; `nil` for other assignments.
    public static func side(of assignment: Assignment) -> MigrationSide? { MarkedCatalogues.side(of: assignment) }
}
