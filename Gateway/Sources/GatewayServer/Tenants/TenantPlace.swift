import Experimentation
import ExperimentationMigration
import ExperimentationPostgres
import ExperimentationSQLite
import Foundation

/// The opened place of a tenant's data.
struct TenantPlace: Sendable {
    let store: ClientStore
    /// The vendor; if instances share a database, shared between them.
    let provider: any ExperimentationProvider
    let shared: PostgresStore?
    let meanwhile: Meanwhile?
    /// Whether the shared database is away.
    let isProvisional: Bool
    /// Whether the file was already open, and also belongs to another connection.
    private let isInherited: Bool

    /// Opens the place that a configuration names.
    ///
    /// - Parameters:
    ///   - configuration: The tenant.
    ///   - provider: The vendor.
    ///   - environment: Clock, randomness and log.
    ///   - isPatient: Whether opening a database's tables may take longer than an ordinary operation.
    ///   - open: The file for what is accepted while the database is away, if it is already open.
    /// - Throws: `ErrorCode.configuration` and `ErrorCode.store`.
    init(
        _ configuration: TenantConfiguration,
        _ provider: any ExperimentationProvider,
        _ environment: ClientEnvironment,
        isPatient: Bool,
        meanwhile open: Meanwhile?
    ) async throws(ExperimentationError) {
        isProvisional = false
        isInherited = open != nil
        switch configuration.store {
        case .memory: (store, shared, meanwhile, self.provider) = (.inMemory(), nil, nil, provider)
        case .file(let url):
            store = try await .sqlite(at: url, for: provider, log: environment.log)
            (shared, meanwhile, self.provider) = (nil, nil, provider)
        case .postgres(let database):
            let opened = try await database.opened(isPatient: isPatient)
            (store, shared) = (opened.clientStore, opened)
            do throws(ExperimentationError) {
                meanwhile =
                    if let open { open } else { try await database.meanwhile(environment) { opened.isAway } }
            } catch {
                await opened.close()
                throw error
            }
            self.provider = Self.shared(provider, by: opened, lease: database.lease)
        }
    }

    /// The vendor as all instances on a database share it; in a move, each of the two vendors is shared by itself, so
    /// that the rules of both are fetched once for all instances.
    private static func shared(
        _ provider: any ExperimentationProvider,
        by store: PostgresStore,
        lease: Duration
    ) -> any ExperimentationProvider {
        guard let move = provider as? MigratingProvider else { return store.sharing(provider, lease: lease) }
        var shared = MigratingProvider(
            from: store.sharing(move.old, lease: lease),
            to: store.sharing(move.new, lease: lease),
            plan: move.plan
        )
        shared.imported = move.imported
        return shared
    }

    /// Opens what can be used without the shared database: the vendor itself, and the file for what is accepted
    /// meanwhile.
    ///
    /// - Throws: `ErrorCode.store` if the file can't be opened.
    init(
        without database: SharedDatabase,
        _ provider: any ExperimentationProvider,
        _ environment: ClientEnvironment
    ) async throws(ExperimentationError) {
        (isProvisional, isInherited) = (true, false)
        (store, shared, self.provider) = (.inMemory(), nil, provider)
        meanwhile = try await database.meanwhile(environment) { true }
    }

    /// Carries out the denials of consent that wait in the file.
    ///
    /// Must be called before the client is created, because it delivers at once what waits in the database.
    ///
    /// - Throws: `ErrorCode.store`.
    func carryOutDenials() async throws(ExperimentationError) {
        guard shared != nil, let denied = try await meanwhile?.denied(), !denied.isEmpty else { return }
        _ = try await store.outbox.setConsent(denied.map { ConsentChange(userID: $0, isGranted: false) })
    }

    /// Closes what was opened here, if no connection was created that would.
    func close() async {
        if !isInherited { await meanwhile?.close() }
        await shared?.close()
    }
}
