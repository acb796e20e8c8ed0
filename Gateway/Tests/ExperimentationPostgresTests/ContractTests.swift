import ConformanceKit
import Experimentation
import ExperimentationPostgres
import PostgresServers
import Testing

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

    private static let states = StoreBench<any StateStore>(features: Set(StoreFeature.allCases)) { _ in
        let schema = newSchema()
        return StorePlace {
            OpenedState(store: try await opened(schema))
        } close: {
            await ($0 as? OpenedState)?.store.close()
        }
    }

    @Test("an outbox keeps every rule", arguments: OutboxStoreContract.cases)
    func outbox(rule: StoreCase<any OutboxStore>) async {
        #expect(await rule.failures(over: Self.outboxes) == [])
    }

    @Test("a state store keeps every rule", arguments: StateStoreContract.cases)
    func state(rule: StoreCase<any StateStore>) async {
        #expect(await rule.failures(over: Self.states) == [])
    }
}
