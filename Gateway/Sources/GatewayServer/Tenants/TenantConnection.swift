import Experimentation
import ExperimentationMigration
import ExperimentationPostgres
import ExperimentationSQLite
import FlagManifest
import Foundation
import GatewayBodies
import Synchronization
import VendorCatalog

/// A tenant's open vendor and store, which stay open when tokens or limits change.
final class TenantConnection: Sendable {
    /// Identifies a connection.
    struct Identity: Sendable, Hashable {
        var tenant: String
        /// The vendor; `nil` in a move, whose plan may have another stage.
        var vendor: FlagValue?
        var move: TenantMove?
        var store: TenantConfiguration.Store
        var reuse: AnswerReuse
        var decisionBytes: Int
    }

    let identity: Identity
    let client: ExperimentationClient
    let intake: EventIntake
    /// The users' assignments, if the vendor promises to keep them.
    let assignments: AssignmentBook
    /// What is known about the vendor's roles.
    let facts: ObservedProvider.Facts
    let changes: ChangeStreams
    let types: SeenTypes
    let time: any TimeSource
    /// The store shared with other instances; `nil` if this instance has a store of its own, or if the shared one is
    /// away.
    let shared: PostgresStore?
    /// Where events wait while the shared database is away; `nil` without such a database, or without a file.
    let meanwhile: Meanwhile?
    /// The store's figures for operators.
    let accounts: StoreAccounts
    /// Whether the shared database was away, so that another connection is going to replace this one.
    let isProvisional: Bool
    /// The last plan that the move followed.
    private let planned: Mutex<MigrationPlan?>
    private let watching = Mutex<[Task<Void, Never>]>([])
    /// Whether another connection has taken over listeners and file.
    private let isInherited = Atomic(false)
    /// Why the shared database couldn't be used at the last attempt.
    let refusal = Mutex<String?>(nil)
    /// Whether events that other instances may have left are being looked for.
    let isLooking = Atomic(false)

    /// Opens vendor and store, without waiting for the vendor.
    ///
    /// - Parameters:
    ///   - configuration: The tenant.
    ///   - provider: The vendor's provider.
    ///   - environment: Clock, randomness and log.
    ///   - before: The provisional connection that this one replaces.
    /// - Throws: `ErrorCode.configuration` and `ErrorCode.store`.
    convenience init(
        _ configuration: TenantConfiguration,
        provider: any ExperimentationProvider,
        environment: ClientEnvironment,
        after before: TenantConnection? = nil
    ) async throws(ExperimentationError) {
        let place = try await TenantPlace(
            configuration,
            provider,
            environment,
            // Others wait for a start, which can do without the database; a move can't, and nothing waits for a
            // replacement.
            isPatient: before != nil || configuration.move != nil,
            meanwhile: before?.meanwhile
        )
        try await self.init(configuration, in: place, environment, after: before)
    }

    /// Opens vendor and store; if the shared database is away or too slow, opens what can be used without it.
    ///
    /// A move is never opened without its store, which records which user has which vendor.
    ///
    /// - Throws: `ErrorCode.configuration` and `ErrorCode.store`.
    static func opened(
        _ configuration: TenantConfiguration,
        provider: any ExperimentationProvider,
        environment: ClientEnvironment
    ) async throws(ExperimentationError) -> TenantConnection {
        do throws(ExperimentationError) {
            return try await TenantConnection(configuration, provider: provider, environment: environment)
        } catch {
            guard case .postgres(let database) = configuration.store, configuration.move == nil,
                await database.isAway(after: error)
            else { throw error }
            environment.log.log(
                .warning,
                "database.away",
                "The shared database of \(configuration.name) is away; what can be done without it is done: \(error.message)"
            )
            let place = try await TenantPlace(without: database, provider, environment)
            return try await TenantConnection(configuration, in: place, environment, after: nil)
        }
    }

    private init(
        _ configuration: TenantConfiguration,
        in place: TenantPlace,
        _ environment: ClientEnvironment,
        after before: TenantConnection?
    ) async throws(ExperimentationError) {
        identity = configuration.connection
        time = environment.time
        planned = Mutex(configuration.move?.plan)
        changes = before?.changes ?? ChangeStreams()
        types = before?.types ?? SeenTypes()
        isProvisional = place.isProvisional
        let (shared, meanwhile, isProvisional) = (place.shared, place.meanwhile, place.isProvisional)
        (self.shared, self.meanwhile) = (shared, meanwhile)
        let observed = ObservedProvider(place.provider)
        observed.onAnswer { [types] in types.note($0) }
        let book = AssignmentBook(
            state: place.store.state,
            of: place.provider.destination,
            time: environment.time,
            isShared: shared != nil || isProvisional,
            isAway: { isProvisional || shared?.isAway ?? false },
            later: { await meanwhile?.take($0) }
        )
        // Set before the client is created, because it carries out at once the denials that an earlier run owed.
        observed.onForget { userID throws(ExperimentationError) in try await book.forget(userID) }
        observed.onChange { [changes] in changes.announceChange() }
        do throws(ExperimentationError) {
            try await place.carryOutDenials()
            client = try await ExperimentationClient(
                provider: observed,
                store: place.store,
                // The tenant's configuration decides what counts as an exposure, not every read of a flag.
                options: ClientOptions(
                    name: configuration.name,
                    exposurePolicy: .manual,
                    decisionCacheBytes: configuration.decisionBytes,
                    // In a move, the vendor that decides for a user may change with each request.
                    answerReuse: configuration.move == nil ? configuration.reuse : nil
                ),
                environment: environment
            )
        } catch {
            await place.close()
            throw error
        }
        facts = observed.facts
        accounts = StoreAccounts(
            client,
            lifetime: shared == nil ? .zero : .seconds(5),
            time: environment.time,
            isAway: { shared?.isAway ?? false }
        )
        let intake: EventIntake
        do throws(ExperimentationError) {
            intake = try await EventIntake(
                client,
                seen: SeenEvents(state: place.store.state, time: environment.time, isShared: shared != nil),
                meanwhile: meanwhile,
                isClosed: isProvisional,
                wasAccepted: shared?.wasAccepted(_:of:)
            )
        } catch {
            // The next attempt follows in a second, so nothing may be left of this one.
            await client.shutdown(within: .zero)
            await place.close()
            throw error
        }
        let isMoving = configuration.move != nil
        changes.announce { shared.flatMap { isMoving ? nil : $0.rulesRevision } }
        (self.intake, assignments) = (intake, book)
    }

    /// The revisions of the rules, if instances share them.
    ///
    /// In a move, each of the two vendors has revisions of its own, and tags contain none.
    var revisions: Evaluator.Revisions? {
        guard let shared, identity.move == nil else { return nil }
        return Evaluator.Revisions { shared.disabledRevision }
    }

    /// The move that is under way; `nil` for none.
    var migration: Migration? { client.extras(as: Migration.self) }

    /// Changes to the stage and share of a plan, if the last plan had a different stage, share or revision.
    ///
    /// - Throws: `ErrorCode.configuration` with the objections, and `ErrorCode.store`; nothing has changed then.
    func follow(_ move: TenantMove?) async throws(ExperimentationError) {
        guard let move, let migration else { return }
        let plan = move.plan
        let isNew = planned.withLock {
            $0 == nil || $0?.stage != plan.stage || $0?.share != plan.share || $0?.revision != plan.revision
        }
        guard isNew else { return }
        try await migration.follow(plan)
        planned.withLock { $0 = plan }
    }

    /// Starts announcing changes of the rules, the kill switch and a move's stage to listeners, and handing over what
    /// waits.
    func begin() {
        if let meanwhile, !isProvisional {
            meanwhile.hand { [intake, assignments] in
                await Self.hand($0, to: intake, and: assignments)
            } noting: { [intake] in
                await intake.note($0)
            }
            meanwhile.see { [shared] in shared?.isAway ?? false }
        }
        let lacksRules = facts.isComputed && [.notReady, .error].contains(client.status)
        let (events, changes) = (client.statusEvents(), changes)
        watching.withLock { watching in
            watching.append(Task { await changes.announce(events, lacksRules: lacksRules) })
            guard let migration else { return }
            let (first, reports) = (migration.report, migration.reports())
            watching.append(Task { await changes.announce(reports, since: first) })
        }
    }

    private func endWatching() {
        for task in watching.withLock({ $0 }) { task.cancel() }
    }

    /// Stops announcing changes, because another connection has replaced this one; requests under way continue.
    ///
    /// - Parameter isInherited: Whether the other one has taken over listeners and file as well.
    func retire(isInherited: Bool) {
        endWatching()
        self.isInherited.store(isInherited, ordering: .relaxed)
        // Clients listen again, to the new connection.
        if !isInherited { changes.finish() }
    }

    /// Ends every stream and delivers what can be delivered.
    func close() async {
        endWatching()
        if !isInherited.load(ordering: .relaxed) {
            changes.finish()
            // Done first, because what waits in the file goes through the client.
            await meanwhile?.look()
            await meanwhile?.close()
        }
        await client.shutdown()
        await shared?.close()
    }
}
