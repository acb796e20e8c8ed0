import Experimentation

/// Two vendors as one, while users are moved from the first to the second.
///
/// ```swift
/// let provider = MigratingProvider(from: flagship, to: sigma, plan: plan)
/// let client = try await ExperimentationClient(provider: provider, store: .sqlite(at: url))
/// let migration = client.extras(as: Migration.self)
/// try await migration?.move(to: .live, share: 0.1)
/// ```
///
/// It stands in the old vendor's place: it has its name and account, so what waits for the old vendor in the store is still
/// delivered, and what was kept is still found. Events are owed to each vendor by itself.
public struct MigratingProvider: ExperimentationProvider {
    /// The vendor that is left.
    public let old: any ExperimentationProvider
    /// The vendor that is moved to.
    public let new: any ExperimentationProvider
    /// How the move is to go.
    public let plan: MigrationPlan
    /// Places of users at the old vendor that live elsewhere, for those who aren't written down yet.
    public var imported: AssignmentTable?

    /// Creates a provider.
    ///
    /// - Parameters:
    ///   - old: The vendor that is left.
    ///   - new: The vendor that is moved to.
    ///   - plan: How the move is to go.
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

    /// What whoever leads in the plan's stage can do: both, where both do.
    ///
    /// Events are told of whoever takes them.
    public var capabilities: Set<Capability> {
        Self.capabilities(at: plan.stage, old: old.capabilities, new: new.capabilities)
    }

    /// What a move between two vendors can do at a stage.
    package static func capabilities(
        at stage: MigrationStage,
        old: Set<Capability>,
        new: Set<Capability>
    ) -> Set<Capability> {
        let (leader, other) = stage.leader == .old ? (old, new) : (new, old)
        // While users are of both vendors, a switch turns only those off whom its vendor leads.
        let decided = stage.leader == nil ? old.intersection(new).subtracting([.killSwitch]) : leader
        guard stage.sendsEvents(to: .old), stage.sendsEvents(to: .new) else { return decided }
        let told: Set<Capability> = [.tracking, .commerce, .batching, .eventIDs, .consentSignal]
        let teller = leader.contains(.tracking) ? leader : other
        return decided.subtracting(told).union(teller.intersection(told))
    }

    /// Starts both vendors.
    ///
    /// - Throws: ``ErrorCode/configuration`` for a plan that can't work, and for two vendors that are the same account.
    public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        try plan.validate()
        guard old.destination != new.destination else {
            throw ExperimentationError(
                .configuration,
                "The plan: \"to\": it is the same account of \(new.name) as \"from\""
            )
        }
        let oldParty = try await Party(old, .old, in: context)
        let newParty = try await Party(new, .new, in: context)
        let migration = Migration(plan, old: oldParty, new: newParty, in: context, imported: imported)
        let planned = migration.standing
        var start = planned
        start.stage = .off
        let reasons = await migration.objections(to: plan.stage, from: start, isStart: true)
        if !reasons.isEmpty {
            throw ExperimentationError(
                .configuration,
                "The plan: \"stage\": \(plan.stage) is held: " + reasons.joined(separator: "; ")
            )
        }
        return roles(of: migration)
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
        roles.assignments.allowsOverrides = capabilities.contains(.overrides)
        for party in parties {
            if let sink = party.roles.events {
                let own = MigratingSink(migration: migration, side: party.side, sink: sink)
                var route = EventRoute(to: party.destination, by: own, needsConsent: roles.needsConsent)
                // Each has a switch of its own: one vendor's events go on while the other one is off.
                route.heedsKillSwitch = false
                roles.furtherRoutes.append(route)
            }
            roles.furtherRoutes += party.roles.furtherRoutes
        }
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
        roles.forget = { userID async throws(ExperimentationError) in
            try await migration.people.forget(userID)
            for party in parties { try await party.roles.forget(userID) }
        }
        roles.stop = { deadline in
            migration.stop()
            for party in parties { await party.roles.stop(deadline) }
        }
        return roles
    }
}
