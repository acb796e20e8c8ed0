import Experimentation
import Testing

@testable import ConformanceKit

@Suite("The stores of a process that may die follow the contract while it lives")
struct CutStoreTests {
    private func cut(_ size: StoreSize) -> CutStore {
        let outbox = InMemoryOutboxStore(maximumCount: size.maximumCount, maximumEventBytes: size.maximumEventBytes)
        return CutStore(ClientStore(outbox: outbox, state: InMemoryStateStore()))
    }

    @Test("they follow every rule of both in-memory stores")
    func contract() async {
        let outbox = await OutboxStoreContract.run(over: StoreBench { cut($0) })
        #expect(outbox.failures == [])
        #expect(outbox.run == OutboxStoreContract.cases(features: [.limited]).map(\.id))
        let state = await StateStoreContract.run(over: StoreBench { cut($0) })
        #expect(state.failures == [])
    }

    @Test("a delivery is in progress until its lane is released or can't be leased, even once its lease has expired")
    func delivering() async throws {
        let store = cut(StoreSize())
        _ = try await store.add([NewEvent("a-1")])
        #expect(!store.isDelivering)
        let lease = try await store.taken()
        #expect(store.isDelivering)
        // Another process takes the lane after the lease has expired.
        _ = try await store.base.taken(2, at: 900)
        #expect(try await store.take(at: 900, behind: lease.token) == .lost)
        #expect(store.isDelivering)
        try await store.release(lease)
        #expect(!store.isDelivering)
        #expect(try await store.take(at: 900) == .busy(until: at(960)))
        #expect(!store.isDelivering)
    }

    @Test("the store of a dead process follows no rule")
    func dead() async {
        let bench = StoreBench<any OutboxStore> { size in
            let store = cut(size)
            store.cut()
            return store
        }
        let report = await OutboxStoreContract.run(over: bench)
        #expect(Set(report.failures.map(\.caseID)) == Set(report.run))
    }
}
