import ConformanceKit
import Experimentation
import ExperimentationSQLite
import Foundation
import Testing

/// This package's stores, each also wrapped in a decorator that changes nothing, and SQLite's with commits that wait for
/// the disk.
enum StoreUnderTest: String, CaseIterable, CustomTestStringConvertible {
    case memory, sqlite, wrappedMemory, wrappedSQLite, powerLossSQLite

    var testDescription: String { rawValue }

    private var isMemory: Bool { self == .memory || self == .wrappedMemory }
    private var isWrapped: Bool { self == .wrappedMemory || self == .wrappedSQLite }

    /// Data in memory is lost with the store, but several clients may share it.
    private var features: Set<StoreFeature> { isMemory ? [.shared, .limited] : [.durable, .shared, .limited] }

    var outboxes: StoreBench<any OutboxStore> {
        StoreBench(features: features) { size in
            let place = place(size)
            return StorePlace {
                let store = try await place.open()
                return isWrapped ? WrappedOutbox(base: store.outbox) : store.outbox
            } close: { store in
                await ((store as? WrappedOutbox)?.base as? SQLiteStore ?? store as? SQLiteStore)?.close()
            }
        }
    }

    var states: StoreBench<any StateStore> {
        StoreBench(features: features) { size in
            let place = place(size)
            return StorePlace {
                let store = try await place.open()
                return isWrapped ? WrappedState(baseState: store.state) : store.state
            } close: { store in
                await ((store as? WrappedState)?.baseState as? SQLiteStore ?? store as? SQLiteStore)?.close()
            }
        }
    }

    private func place(_ size: StoreSize) -> StorePlace<ClientStore> {
        if isMemory {
            let outbox = InMemoryOutboxStore(
                maximumCount: size.maximumCount,
                maximumEventBytes: size.maximumEventBytes
            )
            let store = ClientStore(outbox: outbox, state: InMemoryStateStore())
            return StorePlace { store }
        }
        let folder = TemporaryFolder()
        return StorePlace {
            try await .sqlite(
                at: folder.file(),
                options: .init(
                    durability: self == .powerLossSQLite ? .powerLoss : .process,
                    limits: StoreLimits(maximumCount: size.maximumCount, maximumEventBytes: size.maximumEventBytes)
                )
            )
        }
    }
}

/// Decorators that change nothing.
private struct WrappedOutbox: OutboxStoreDecorator { let base: any OutboxStore }

private struct WrappedState: StateStoreDecorator { let baseState: any StateStore }

@Suite("Every store follows the contract")
struct StoreContractTests {
    @Test("a rule of the outbox", arguments: StoreUnderTest.allCases, OutboxStoreContract.cases)
    func outbox(_ store: StoreUnderTest, _ rule: StoreCase<any OutboxStore>) async {
        let bench = store.outboxes
        guard rule.needs.isSubset(of: bench.features) else { return }
        let failures = await rule.failures(over: bench)
        #expect(failures == [], "\(failures.map(\.message))")
    }

    @Test("a rule of the state store", arguments: StoreUnderTest.allCases, StateStoreContract.cases)
    func state(_ store: StoreUnderTest, _ rule: StoreCase<any StateStore>) async {
        let bench = store.states
        guard rule.needs.isSubset(of: bench.features) else { return }
        let failures = await rule.failures(over: bench)
        #expect(failures == [], "\(failures.map(\.message))")
    }

    @Test("one line runs all of it on your own store, and lists what was left out")
    func inALine() async {
        let outbox = await OutboxStoreContract.run(
            over: StoreBench { size in
                InMemoryOutboxStore(maximumCount: size.maximumCount, maximumEventBytes: size.maximumEventBytes)
            }
        )
        #expect(outbox.failures == [])
        #expect(outbox.run == OutboxStoreContract.cases(features: [.limited]).map(\.id))
        #expect(Set(outbox.run + outbox.leftOut) == Set(OutboxStoreContract.cases.map(\.id)))
        #expect(outbox.leftOut.contains("durable/reopened"))
        let state = await StateStoreContract.run(over: StoreBench { _ in InMemoryStateStore() })
        #expect(state.failures == [])
        #expect(state.leftOut == ["state/first-of-two", "state/counted", "state/reopened"])
    }

    @Test("every rule has a unique name")
    func names() {
        let names = OutboxStoreContract.cases.map(\.id) + StateStoreContract.cases.map(\.id)
        #expect(Set(names).count == names.count)
    }
}
