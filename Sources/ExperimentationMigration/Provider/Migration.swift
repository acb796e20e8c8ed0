import Experimentation
import Foundation
import Synchronization

/// A move in progress: its stage, and how to change it.
///
/// Get it with `client.extras(as: Migration.self)`. The stage is kept in the client's store, and every instance with
/// that store follows within a few seconds. A plan with a stage and share that haven't been applied yet overrides the
/// stored stage.
public final class Migration: Sendable {
    private struct State {
        var standing: Standing
        var read: ContinuousClock.Instant?
        /// How often this instance has moved, and so replaced ``standing`` with what it wrote.
        var moves = 0
        var flagRead: ContinuousClock.Instant?
        var heeded: (text: String?, instant: ContinuousClock.Instant)?
        var held: [String] = []
        var watchers: [Int: AsyncStream<MigrationReport>.Continuation] = [:]
        var nextWatcher = 0
        var isStopped = false
    }

    /// The plan that the move began with.
    ///
    /// After ``follow(_:)``, its stage, share and revision are still the ones from the beginning.
    public let plan: MigrationPlan
    let old: Party
    let new: Party
    let people: People
    let tally: Tally
    let shadows: ShadowQueue
    let environment: ClientEnvironment
    let record: StandingRecord
    private let unsupported: UnsupportedRecord
    private let state: Mutex<State>
    private let followed: Mutex<PlanInForce>
    /// Whether the store couldn't be read when the plan was checked.
    let isUnchecked = Mutex(false)
    /// Whether the store couldn't record that the plan is applied.
    let isUnnoted = Mutex(false)
    /// Whether the store couldn't be read when a denial of consent asked where the move stands.
    let isBehind = Mutex(false)
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
        let move = plan.name(to: new.destination)
        let account = MigrationPlan.digest(of: new.destination)
        record = StandingRecord(in: context.state, of: move, to: account, log: log)
        unsupported = UnsupportedRecord(in: context.state, of: move, log: log)
        // The client has kept variations only for a vendor that honors earlier ones; for others, a lookup would find
        // nothing.
        var kept: People.Kept?
        if old.policy.isSticky { kept = old.kept.assignments(of:) }
        var found: People.Imported?
        if let imported { found = { user in imported.variations(of: user) } }
        people = People(in: context.state, of: move, log: log, kept: kept, imported: found)
        tally = Tally(plan)
        shadows = ShadowQueue(plan.shadow)
        environment = context.environment
        state = Mutex(State(standing: Standing(plan, of: move)))
        followed = Mutex(PlanInForce(plan))
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

    /// The version of the plan that this instance goes by: the one it began with, or the one it has followed since.
    var planInForce: PlanInForce {
        get { followed.withLock { $0 } }
        set { followed.withLock { $0 = newValue } }
    }

    /// Returns the store's stage, reading it again after a few seconds.
    func current() async throws(ExperimentationError) -> Standing {
        let now = environment.time.instant
        let isDue = state.withLock { state in
            guard let read = state.read else { return true }
            return read.advanced(by: Self.patience) < now
        }
        if isDue { try await catchUp() }
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

    /// Whether a value of the stage flag is due to be followed; if so, counts it as followed.
    func isFlagValueDue(_ text: String?, every interval: Duration) -> Bool {
        let now = environment.time.instant
        return state.withLock { state in
            if let before = state.heeded, before.text == text, before.instant.advanced(by: interval) > now {
                return false
            }
            state.heeded = (text, now)
            return true
        }
    }

    /// Reads the stored stage.
    ///
    /// - Returns: What was stored, under whichever plan; `nil` if nothing was.
    @discardableResult
    func reread() async throws(ExperimentationError) -> Standing? {
        let (now, before) = (environment.time.instant, state.withLock { $0.moves })
        let kept = try await record.read()
        checkLate(against: kept)
        let inForce = followed.withLock { inForce in
            inForce.origin = inForce.origin ?? kept ?? .notBegun
            return inForce
        }
        if let kept { adopt(kept.under(inForce.plan, since: inForce.origin), since: before) }
        state.withLock { $0.read = now }
        isBehind.withLock { $0 = false }
        return kept
    }

    /// Continues from where the move stands now, and notifies listeners if that is another stage or share.
    ///
    /// - Parameters:
    ///   - standing: Where the move stands.
    ///   - count: The number of this instance's moves when the standing was read, so that it doesn't undo a later move;
    ///     `nil` for what this instance wrote.
    func adopt(_ standing: Standing, since count: Int? = nil) {
        let former = state.withLock { state -> Standing? in
            if let count, state.moves != count { return nil }
            defer { (state.standing, state.read) = (standing, environment.time.instant) }
            if count == nil { state.moves += 1 }
            return state.standing
        }
        guard let before = former else { return }
        if standing.share != before.share { tally.restartSides(share: standing.share) }
        if standing.stage != before.stage || standing.share != before.share {
            environment.log.log(
                .info,
                "migration.stage",
                "The move is at \(standing.stage), with a share of \(standing.share)."
            )
            warn(of: standing.stage)
            announce()
        }
    }

    /// Sets why the last requested move was refused; empty if it wasn't.
    func hold(_ reasons: [String]) { state.withLock { $0.held = reasons } }

    /// Adds this instance's counts of unsupported events to those of all other instances and of earlier runs.
    func noteUnsupported() async throws(ExperimentationError) {
        let counts = tally.takeUnwritten()
        if counts.isEmpty { return }
        do throws(ExperimentationError) {
            try await unsupported.add(counts)
        } catch {
            tally.putBack(counts)
            throw error
        }
    }

    // MARK: Experiments

    /// Returns the experiments of a vendor's rules; empty if it publishes none or doesn't answer.
    public func experiments(of side: MigrationSide) async -> [VendorExperiment] {
        (try? await party(side).experiments()) ?? []
    }

    // MARK: Reports

    /// The reports, beginning with the current one; a new one follows each change of stage and each ``announce()``.
    ///
    /// The stream ends with the client. A stream requested after that yields only the last report.
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

    /// Stops the move and both vendors.
    func stop(by deadline: ContinuousClock.Instant) async {
        stop()
        // Concurrently, so that each has all the time that is left.
        async let first: Void = old.roles.stop(deadline)
        await new.roles.stop(deadline)
        await first
    }

    /// Drops waiting shadows and ends the streams.
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
