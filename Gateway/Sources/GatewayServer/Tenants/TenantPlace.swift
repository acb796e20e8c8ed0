import Experimentation
import ExperimentationMigration
import ExperimentationPostgres
import ExperimentationSQLite
import Foundation

/// Where a tenant's data is, opened.
struct TenantPlace: Sendable {
    let store: ClientStore
    /// The vendor, as instances with one database have it.
    let provider: any ExperimentationProvider
    let shared: PostgresStore?
    let meanwhile: Meanwhile?
    /// Whether the shared database is away.
    let isProvisional: Bool
    /// Whether the file was open already, and is another connection's as well.
    private let isInherited: Bool

    /// Opens the place that a configuration names.
    ///
    /// - Parameters:
    ///   - configuration: The tenant.
    ///   - provider: The vendor.
    ///   - environment: Clock, randomness and log.
    ///   - isPatient: Whether the tables of a database may take their time to be opened.
    ///   - open: The file for what is accepted while the database is away, if it is open already.
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

    /// The vendor as all instances on a database have it; of a move, each of its two vendors by itself, so that the rules of
    /// both are fetched once for all instances.
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

    /// Opens what there is without a shared database: the vendor itself, and the file for what is accepted meanwhile.
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
    /// To be called before there is a client, which delivers at once what waits in the database.
    ///
    /// - Throws: `ErrorCode.store`.
    func carryOutDenials() async throws(ExperimentationError) {
        guard shared != nil, let denied = try await meanwhile?.denied(), !denied.isEmpty else { return }
        _ = try await store.outbox.setConsent(denied.map { ConsentChange(userID: $0, isGranted: false) })
    }

    /// Closes what was opened here, for want of a connection that would.
    func close() async {
        if !isInherited { await meanwhile?.close() }
        await shared?.close()
    }
}
