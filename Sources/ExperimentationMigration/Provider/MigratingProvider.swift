import Experimentation

/// A provider that moves users from one vendor to another.
///
/// ```swift
/// let provider = MigratingProvider(from: flagship, to: sigma, plan: plan)
/// let client = try await ExperimentationClient(provider: provider, store: .sqlite(at: url))
/// let migration = client.extras(as: Migration.self)
/// try await migration?.move(to: .live, share: 0.1)
/// ```
///
/// It has the old vendor's name and account, so the store's events for the old vendor are still delivered, and its
/// state is still found. New events are owed to each vendor separately.
public struct MigratingProvider: ExperimentationProvider {
    /// The old vendor.
    public let old: any ExperimentationProvider
    /// The new vendor.
    public let new: any ExperimentationProvider
    /// The settings of the move.
    public let plan: MigrationPlan
    /// Imported places at the old vendor, for users without a record.
    public var imported: AssignmentTable?

    /// Creates a provider.
    ///
    /// - Parameters:
    ///   - old: The old vendor.
    ///   - new: The new vendor.
    ///   - plan: The settings of the move.
    public init(from old: any ExperimentationProvider, to new: any ExperimentationProvider, plan: MigrationPlan) {
        self.old = old
        self.new = new
        self.plan = plan
    }

    /// The old vendor's name.
    public var name: String { old.name }

    /// The old vendor's scope.
    public var scope: String { old.scope }

    /// The old vendor's account.
    public var destination: Destination { old.destination }

    /// The capabilities of the vendor that leads in the plan's stage; where both may lead, the capabilities that both
    /// have, but not the kill switch.
    ///
    /// Where both vendors get events, the capabilities for events are the leader's (the new vendor's in
    /// ``MigrationStage/live``), or the other vendor's if the leader takes no events.
    public var capabilities: Set<Capability> {
        Self.capabilities(at: plan.stage, old: old.capabilities, new: new.capabilities)
    }

    /// Returns the capabilities of a move at a stage.
    package static func capabilities(
        at stage: MigrationStage,
        old: Set<Capability>,
        new: Set<Capability>
    ) -> Set<Capability> {
        let (leader, other) = stage.leader == .old ? (old, new) : (new, old)
        // In a stage with two leaders, a vendor's kill switch disables only its own users.
        let decided = stage.leader == nil ? old.intersection(new).subtracting([.killSwitch]) : leader
        guard stage.sendsEvents(to: .old), stage.sendsEvents(to: .new) else { return decided }
        let told: Set<Capability> = [.tracking, .commerce, .batching, .eventIDs, .consentSignal]
        let teller = leader.contains(.tracking) ? leader : other
        return decided.subtracting(told).union(teller.intersection(told))
    }

    /// Starts both vendors.
    ///
    /// - Throws: ``ErrorCode/configuration`` for an invalid plan, and if both vendors are the same account.
    public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        let migration = try await begin(in: context)
        do throws(ExperimentationError) {
            try await check(migration)
        } catch {
            await migration.stop(by: context.environment.time.instant)
            throw error
        }
        await migration.notePlan()
        return roles(of: migration)
    }

    /// Starts both vendors; checks nothing but the plan itself, and writes nothing about the move.
    func begin(in context: ProviderContext) async throws(ExperimentationError) -> Migration {
        try plan.validate()
        guard old.destination != new.destination else {
            throw ExperimentationError(
                .configuration,
                "The plan: \"to\": it is the same account of \(new.name) as \"from\""
            )
        }
        // The client knows the move under the old vendor's account.
        let client = context.kept(for: old)
        var started: [Party] = []
        do throws(ExperimentationError) {
            let oldParty = try await Party(old, .old, in: context, client: client)
            started.append(oldParty)
            let newParty = try await Party(new, .new, in: context, client: client)
            started.append(newParty)
            return Migration(plan, old: oldParty, new: newParty, in: context, imported: imported)
        } catch {
            for party in started { await party.roles.stop(context.environment.time.instant) }
            throw error
        }
    }

    /// Checks the plan's stage, unless the move has gone elsewhere since.
    private func check(_ migration: Migration) async throws(ExperimentationError) {
        var kept: Standing?
        do throws(ExperimentationError) { kept = try await migration.reread() } catch {
            // An unreadable store mustn't keep the application from starting; what the store holds counts once it can
            // be read.
            migration.checkLater()
        }
        guard migration.stage == plan.stage, migration.share == plan.share else { return }
        let reasons = await migration.objections(
            to: plan.stage,
            share: plan.share,
            from: kept ?? .notBegun,
            isStart: true
        )
        if reasons.isEmpty { return migration.warn(of: plan.stage) }
        throw ExperimentationError(
            .configuration,
            "The plan: \"stage\": \(plan.stage) is held: " + reasons.joined(separator: "; ")
        )
    }

    private func roles(of migration: Migration) -> ProviderRoles {
        let parties = [migration.old, migration.new]
        var roles = ProviderRoles(needsConsent: parties.contains { $0.roles.needsConsent })
        if parties.contains(where: { $0.roles.decisions != nil }) {
            roles.decisions = .asked(
                MigratingSource(
                    migration: migration,
                    needsConsent: roles.needsConsent,
                    freshness: migration.party(plan.stage.leader ?? .old).freshness
                )
            )
        }
        let answering = parties.filter { (plan.stage.leader ?? $0.side) == $0.side }
        roles.assignments.allowsOverrides = answering.allSatisfy(\.roles.assignments.allowsOverrides)
        roles.furtherRoutes = MigratingRoutes(migration, needsConsent: roles.needsConsent).all
        roles.identity = MigratingLinker(migration)
        if parties.contains(where: { $0.roles.remoteSwitch != nil }) {
            roles.remoteSwitch = MigratingSwitch(migration: migration)
        }
        if parties.contains(where: { $0.roles.changes != nil }) {
            roles.changes = MigratingChanges(migration: migration)
        }
        let sights = Dictionary(uniqueKeysWithValues: parties.map { ($0.side, $0.roles.flagSeen) })
        if sights.values.contains(where: { $0 != nil }) {
            roles.flagSeen = { sight in
                guard let side = MarkedCatalogues.side(of: sight.exposure.assignment) else { return }
                sights[side]??(sight.withoutMark)
            }
        }
        roles.campaigns = migration.old.roles.campaigns ?? migration.new.roles.campaigns
        roles.extras = migration
        roles.furtherExtras = parties.compactMap(\.roles.extras) + parties.flatMap(\.roles.furtherExtras)
        roles.prepare = { event async throws(ExperimentationError) in
            try await migration.prepare(for: event)
            for party in parties { try await party.roles.prepare?(event) }
        }
        roles.forget = { userID async throws(ExperimentationError) in
            // A failure at one vendor doesn't keep the other from forgetting.
            var failure: ExperimentationError?
            do throws(ExperimentationError) { try await migration.people.forget(userID) } catch { failure = error }
            for party in parties {
                do throws(ExperimentationError) { try await party.roles.forget(userID) } catch {
                    failure = failure ?? error
                }
            }
            if let failure { throw failure }
        }
        roles.stop = { await migration.stop(by: $0) }
        return roles
    }
}
