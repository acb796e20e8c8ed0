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
    /// Decisions aren't told to be made on this device: who decides can change at any time.
    public var capabilities: Set<Capability> {
        let capabilities: Set<Capability> =
            switch plan.stage.leader {
            case .old: old.capabilities
            case .new: new.capabilities
            case nil: old.capabilities.intersection(new.capabilities)
            }
        return capabilities.subtracting([.localEvaluation])
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
        let migration = Migration(plan, old: oldParty, new: newParty, in: context)
        let planned = migration.standing
        var start = planned
        start.stage = .off
        let reasons = await migration.objections(to: plan.stage, from: start)
        if let reason = reasons.first {
            throw ExperimentationError(.configuration, "The plan: \"stage\": \(plan.stage) is held: \(reason)")
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
                // The new vendor's events go on while the old one is off.
                route.heedsKillSwitch = party.side == .old
                roles.furtherRoutes.append(route)
            }
            roles.furtherRoutes += party.roles.furtherRoutes
        }
        let linkers = parties.compactMap(\.roles.identity)
        if !linkers.isEmpty { roles.identity = MigratingLinker(linkers: linkers) }
        if parties.contains(where: { $0.roles.remoteSwitch != nil }) {
            roles.remoteSwitch = MigratingSwitch(migration: migration)
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
