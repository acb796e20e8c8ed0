import Experimentation
import ExperimentationPostgres
import ExperimentationSQLite
import FlagManifest
import Foundation
import Synchronization
import VendorCatalog

/// A tenant's open vendor and store, which outlive changes of tokens or limits.
final class TenantConnection: Sendable {
    /// Identifies a connection.
    struct Name: Sendable, Hashable {
        var tenant: String
        var vendor: FlagValue
        var store: TenantConfiguration.Store
    }

    let name: Name
    let client: ExperimentationClient
    let intake: EventIntake
    let changes = ChangeStreams()
    let types = SeenTypes()
    /// The store shared with other instances; `nil` if this one is alone.
    let shared: PostgresStore?
    private let watching = Mutex<Task<Void, Never>?>(nil)

    /// Opens vendor and store, without waiting for the vendor.
    ///
    /// - Parameters:
    ///   - configuration: The tenant.
    ///   - provider: The vendor's provider.
    ///   - environment: Clock, randomness and log.
    /// - Throws: `ErrorCode.configuration` and `ErrorCode.store`.
    init(
        _ configuration: TenantConfiguration,
        provider: any ExperimentationProvider,
        environment: ClientEnvironment
    ) async throws(ExperimentationError) {
        name = configuration.connection
        let store: ClientStore
        switch configuration.store {
        case .memory:
            (store, shared) = (.inMemory(), nil)
        case .file(let url):
            (store, shared) = (try await .sqlite(at: url, for: provider, log: environment.log), nil)
        case .postgres(let database):
            let opened = try await database.opened()
            (store, shared) = (opened.clientStore, opened)
        }
        client = try await ExperimentationClient(
            provider: provider,
            store: store,
            // The tenant's configuration decides what counts as an exposure, not every read of a flag.
            options: ClientOptions(name: configuration.name, exposurePolicy: .manual),
            environment: environment
        )
        intake = try await EventIntake(
            client,
            seen: SeenEvents(state: store.state, time: environment.time, isShared: shared != nil)
        )
    }

    /// Starts announcing ruleset changes to listeners.
    func watch() {
        let (events, changes) = (client.statusEvents(), changes)
        let task = Task {
            var wasDisabled = false
            for await event in events {
                let isDisabled = event.status == .disabled
                if event.kind == .configurationChanged || isDisabled != wasDisabled { changes.announceChange() }
                wasDisabled = isDisabled
            }
        }
        watching.withLock { $0 = task }
    }

    /// Ends every stream and delivers what can be delivered.
    func close() async {
        watching.withLock { $0?.cancel() }
        changes.finish()
        await client.shutdown()
        await shared?.close()
    }

    /// Delivers waiting events that no instance is delivering, such as those left by a lost one.
    ///
    /// Recent events are left to the instance that accepted them, which may be filling a batch.
    func lookAfterOthers(now: Date) async {
        guard case .postgres(let database) = name.store else { return }
        let patience = database.lease / .seconds(1)
        guard let shared, (try? await shared.hasUnclaimedEvents(before: now - patience, now: now)) == true else {
            return
        }
        _ = try? await client.flush(within: .seconds(30), retrying: false)
    }
}

extension TenantConfiguration {
    /// Identifies the connection that this tenant needs.
    var connection: TenantConnection.Name { TenantConnection.Name(tenant: name, vendor: vendor, store: store) }
}
