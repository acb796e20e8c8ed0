import Experimentation

/// A vendor's account that several machines use over one database: rules are fetched once for all, and the kill switch is one.
struct SharedAccount: ExperimentationProvider {
    let provider: any ExperimentationProvider
    let store: PostgresStore
    let lease: Duration

    var name: String { provider.name }
    var scope: String { provider.scope }
    var capabilities: Set<Capability> { provider.capabilities }
    var destination: Destination { provider.destination }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await provider.start(in: context)
        let board = RulesBoard(store.pool, name: destination.account)
        let changes = SharedChanges(roles.changes)
        let watch = DatabaseWatch(store.pool, name: destination.account) { changes.see($0) }
        store.watch(by: watch)
        roles.events = roles.events.map { SwitchingSink(sink: $0, board: board) }
        for index in roles.furtherRoutes.indices where roles.furtherRoutes[index].heedsKillSwitch {
            roles.furtherRoutes[index].sink = SwitchingSink(sink: roles.furtherRoutes[index].sink, board: board)
        }
        switch roles.decisions {
        case .computed(let source):
            let rules = SharedRules(source, board, lease: lease, time: context.environment.time) { watch.isAway }
            changes.rules = rules
            roles.decisions = .computed(rules)
            roles.changes = changes
        case .asked(let source):
            let shared = SharedSwitch(board)
            roles.decisions = .asked(SwitchingSource(source: source, shared: shared))
            // One that the vendor has itself says the same to every machine.
            if roles.remoteSwitch == nil, capabilities.contains(.killSwitch) { roles.remoteSwitch = shared }
        case nil: break
        }
        let stop = roles.stop
        roles.stop = { deadline in
            watch.stop()
            await stop(deadline)
        }
        return roles
    }
}

extension PostgresStore {
    /// Has the machines that share this store share a vendor's account as well.
    ///
    /// Rules are fetched by one machine, once per interval, and a change reaches all within a second, as does the vendor's
    /// kill switch. While the database is away, every machine goes on with the rules it has, as stale.
    ///
    /// - Parameters:
    ///   - provider: The vendor.
    ///   - lease: How long a machine may take to fetch rules before another tries.
    /// - Returns: The same account, to create the client with.
    public func sharing(
        _ provider: any ExperimentationProvider,
        lease: Duration = .seconds(15)
    ) -> any ExperimentationProvider {
        SharedAccount(provider: provider, store: self, lease: lease)
    }
}
