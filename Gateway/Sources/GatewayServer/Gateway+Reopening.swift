import Experimentation
import Synchronization

extension Gateway {
    /// Goes over to the shared databases that were away when their tenants were opened, where they are there by now.
    ///
    /// Neither a reload nor the end waits for it: to open a database may take a minute, and can't be broken off.
    func openWaiting() {
        for tenant in responder.tenants.tenants where tenant.connection.isProvisional {
            let connection = ObjectIdentifier(tenant.connection)
            guard reopening.withLock({ $0.insert(connection).inserted }) else { continue }
            Task {
                await reopen(tenant)
                reopening.withLock { _ = $0.remove(connection) }
            }
        }
    }

    private func reopen(_ tenant: Tenant) async {
        let connection: TenantConnection
        do throws(ExperimentationError) {
            connection = try await TenantConnection(
                tenant.configuration,
                provider: try makeProvider(tenant.configuration),
                environment: environment,
                after: tenant.connection
            )
        } catch {
            return await report(error, tenant)
        }
        let isUsed = await turns.take { self.use(connection, inPlaceOf: tenant.connection) }
        // What it was to inherit stays with the one that has it.
        if !isUsed { connection.retire(isInherited: true) }
        if !isUsed || isClosed.load(ordering: .sequentiallyConsistent) { await connection.close() }
    }

    /// Reports why a database that is there can't be used, unless the attempt before failed for the same reason.
    private func report(_ error: ExperimentationError, _ tenant: Tenant) async {
        if case .postgres(let database) = tenant.configuration.store, await database.isAway(after: error) { return }
        let before = tenant.connection.refusal.withLock { refusal in
            defer { refusal = error.message }
            return refusal
        }
        if error.message == before { return }
        environment.log.log(
            .error,
            "database.refused",
            "The shared database of \(tenant.name) can't be used, and what can be done without it is done: \(error.message)"
        )
    }

    /// Has a connection take the place of a provisional one.
    ///
    /// - Returns: Whether it does; not if a reload has removed that one.
    private func use(_ connection: TenantConnection, inPlaceOf provisional: TenantConnection) -> Bool {
        let tenants = responder.tenants.tenants
        guard tenants.contains(where: { $0.connection === provisional }) else { return false }
        connection.begin()
        let now = environment.time.instant
        responder.tenants = TenantDirectory(
            tenants.map { tenant in
                guard tenant.connection === provisional else { return tenant }
                return Tenant(tenant.configuration, over: connection, now: now)
            }
        )
        environment.log.log(
            .warning,
            "database.back",
            "The shared database of \(connection.identity.tenant) is there, and is used from now on."
        )
        // What was answered until now was stale, and made without what the database has of users.
        connection.changes.announceChange()
        retire(provisional, isInherited: true)
        return true
    }
}
