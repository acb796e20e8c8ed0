import Experimentation
import Synchronization

extension Gateway {
    /// Switches to the shared databases that were away when their tenants were opened, if they are back.
    ///
    /// Neither a reload nor the shutdown waits for this: opening a database may take a minute, and can't be
    /// interrupted.
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
        // What it would have inherited stays with the connection that has it.
        if !isUsed { connection.retire(isInherited: true) }
        if !isUsed || isClosed.load(ordering: .sequentiallyConsistent) { await connection.close() }
    }

    /// Reports why a database that can be reached can't be used, unless the attempt before failed for the same reason.
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

    /// Replaces a provisional connection with another one.
    ///
    /// - Returns: Whether it was replaced; `false` if a reload has removed the provisional one.
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
        // Answers so far were stale, and made without what the database stores about users.
        connection.changes.announceChange()
        retire(provisional, isInherited: true)
        return true
    }
}
