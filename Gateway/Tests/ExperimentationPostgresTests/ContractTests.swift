import ConformanceKit
import Experimentation
import PostgresServers
import Testing

@testable import ExperimentationPostgres

/// One case of each test at a time: each creates a schema of some fifty relations, and all at once would keep other tests from the
/// server.
@Suite("The contract of stores, over PostgreSQL")
struct ContractTests {
    private static let outboxes = StoreBench<any OutboxStore>(features: Set(StoreFeature.allCases)) { size in
        let schema = newSchema()
        return StorePlace {
            OpenedOutbox(store: try await opened(schema, size: size))
        } close: {
            await ($0 as? OpenedOutbox)?.store.close()
        }
    }

    private static let neighbours = StoreBench<any OutboxStore>(features: Set(StoreFeature.allCases)) { size in
        let schema = newSchema()
        var size = size
        // Each shard has its part of the whole.
        size.maximumCount *= 16
        size.maximumEventBytes += NeighboursOutbox.growth
        return StorePlace { [size] in
            let store = try await opened(schema, shards: 16, size: size)
            return NeighboursOutbox(store, try #require(store.outbox as? PostgresOutboxStore))
        } close: {
            await ($0 as? NeighboursOutbox)?.store.close()
        }
    }

    private static let states = StoreBench<any StateStore>(features: Set(StoreFeature.allCases)) { _ in
        let schema = newSchema()
        return StorePlace {
            OpenedState(store: try await opened(schema))
        } close: {
            await ($0 as? OpenedState)?.store.close()
        }
    }

    @Test("the outbox fulfils every rule of the contract", .serialized, arguments: OutboxStoreContract.cases)
    func outbox(rule: StoreCase<any OutboxStore>) async {
        #expect(await rule.failures(over: Self.outboxes) == [])
    }

    @Test(
        "an outbox with sixteen shards fulfils every rule of the contract",
        .serialized,
        arguments: OutboxStoreContract.cases
    )
    func shard(rule: StoreCase<any OutboxStore>) async {
        #expect(await rule.failures(over: Self.neighbours) == [])
    }

    @Test("the state store fulfils every rule of the contract", .serialized, arguments: StateStoreContract.cases)
    func state(rule: StoreCase<any StateStore>) async {
        #expect(await rule.failures(over: Self.states) == [])
    }
}
