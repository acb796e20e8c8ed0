import Experimentation

/// A vendor's account that several machines share through a database: they fetch rules once for all, and have one kill
/// switch.
struct SharedAccount: ExperimentationProvider {
    let provider: any ExperimentationProvider
    let pool: ConnectionPool
    let lease: Duration
    /// Watches the database until the store is closed, and records the shared rules, if there are any.
    let begin: @Sendable (DatabaseWatch, SharedRules?) -> Void

    var name: String { provider.name }
    var scope: String { provider.scope }
    var capabilities: Set<Capability> { provider.capabilities }
    var destination: Destination { provider.destination }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await provider.start(in: context)
        let board = RulesBoard(pool, name: destination.account)
        let changes = SharedChanges(roles.changes)
        let watch = DatabaseWatch(pool, name: destination.account) { [weak changes] in changes?.see($0) }
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
            // A switch that the vendor has itself reports the same to every machine.
            if roles.remoteSwitch == nil, capabilities.contains(.killSwitch) { roles.remoteSwitch = shared }
        case nil: break
        }
        begin(watch, changes.rules)
        let stop = roles.stop
        roles.stop = { deadline in
            watch.stop()
            await stop(deadline)
        }
        return roles
    }
}
