import ConformanceKit
import Experimentation
import ExperimentationPostgres
import Foundation
import PostgresServers

/// A name for a schema that no other test has.
func newSchema() -> String { "t" + UUID().uuidString.replacing("-", with: "").lowercased() }

/// Opens a store in a schema of the run's server.
func opened(
    _ schema: String = newSchema(),
    shards: Int? = 1,
    connections: Int = 2,
    patience: Duration = .seconds(30),
    size: StoreSize = StoreSize()
) async throws -> PostgresStore {
    try await PostgresStore.open(
        try PostgresServer.shared.url,
        options: PostgresStoreOptions(
            schema: schema,
            connections: connections,
            patience: patience,
            shards: shards,
            longestLease: nil,
            maximumCount: size.maximumCount,
            maximumEventBytes: size.maximumEventBytes
        )
    )
}

/// An outbox that closes its store.
struct OpenedOutbox: OutboxStoreDecorator {
    let store: PostgresStore
    var base: any OutboxStore { store.outbox }
}

/// A state store that closes its store.
struct OpenedState: StateStoreDecorator {
    let store: PostgresStore
    var baseState: any StateStore { store.state }
}
