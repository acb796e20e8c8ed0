import Experimentation
import ExperimentationSQLite
import FlagManifest
import Synchronization
import VendorCatalog

/// A tenant's vendor and store, opened: what outlives a change of tokens or limits.
final class TenantConnection: Sendable {
    /// What tells connections apart.
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
    private let watching = Mutex<Task<Void, Never>?>(nil)

    /// Opens vendor and store, without waiting for the vendor.
    ///
    /// - Parameters:
    ///   - configuration: The tenant.
    ///   - provider: The vendor.
    ///   - environment: Time, chance and a place for messages.
    /// - Throws: `ErrorCode.configuration` and `ErrorCode.store`.
    init(
        _ configuration: TenantConfiguration,
        provider: any ExperimentationProvider,
        environment: ClientEnvironment
    ) async throws(ExperimentationError) {
        name = configuration.connection
        let store: ClientStore =
            switch configuration.store {
            case .memory: .inMemory()
            case .file(let url): try await .sqlite(at: url, for: provider, log: environment.log)
            }
        client = try await ExperimentationClient(
            provider: provider,
            store: store,
            // What counts as an exposure is for the tenant to say, not for each look at a flag.
            options: ClientOptions(name: configuration.name, exposurePolicy: .manual),
            environment: environment
        )
        intake = try await EventIntake(client, state: store.state, time: environment.time)
    }

    /// Begins to tell listeners when the vendor's rules change.
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
    }
}

extension TenantConfiguration {
    /// The name of the connection that this tenant needs.
    var connection: TenantConnection.Name { TenantConnection.Name(tenant: name, vendor: vendor, store: store) }
}
