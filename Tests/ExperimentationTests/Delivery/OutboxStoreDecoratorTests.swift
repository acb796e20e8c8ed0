import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization
import Testing

@Suite("A store decorator forwards what it doesn't implement")
struct OutboxStoreDecoratorTests {
    private final class Plain: OutboxStoreDecorator, StateStoreDecorator {
        let base: any OutboxStore = InMemoryOutboxStore()
        let baseState: any StateStore = InMemoryStateStore()
        let passed = Mutex<[StoreOperation]>([])
        let isClosed = Mutex(false)

        func pass<Value: Sendable>(
            _ operation: StoreOperation,
            _ body: () async throws(ExperimentationError) -> Value
        ) async throws(ExperimentationError) -> Value {
            passed.withLock { $0.append(operation) }
            if isClosed.withLock({ $0 }) { throw ExperimentationError(.store, "closed") }
            return try await body()
        }
    }

    private static let now = Date(timeIntervalSince1970: 1_795_262_400)
    private static let there = Destination(provider: "test", scope: "")
    private static let envelope = Envelope(id: "1", identity: Identity(id: "u"), event: .installed, date: now)
    private static let token = LeaseToken(destination: there, epoch: 1, revision: 0)

    /// Performs each operation and checks that it reached the store beneath.
    private func use(_ operation: StoreOperation, of store: Plain) async throws {
        let (now, there, token) = (Self.now, Self.there, Self.token)
        switch operation {
        case .append:
            #expect(try await store.append([NewEvent(Self.envelope, to: there, isHeld: true)], now: now) == [nil])
        case .setConsent:
            let granted = try await store.setConsent([ConsentChange(userID: "u", isGranted: true)])
            #expect(granted == ConsentOutcome(released: 1))
        case .lease:
            let request = LeaseRequest(for: there, owner: 1, of: 9, now: now, until: now + 60)
            var envelope = Self.envelope
            envelope.sequence = 1
            let lease = Lease(token: token, batches: [[envelope]], rest: .nothing(until: nil))
            #expect(try await store.lease(request) == .leased(lease))
        case .isCurrent: #expect(try await store.isCurrent(token))
        case .settle:
            let retry = Settlement(id: "1", sequence: 1, .retry(at: now + 1, attempts: 1, reason: "HTTP 400"))
            #expect(try await store.settle([retry], under: token, now: now))
        case .release:
            try await store.release(token, pause: DeliveryPause(reason: "outage", through: 1), now: now)
            #expect(try await !store.base.isCurrent(token))
        case .expire: #expect(try await store.expire(before: now, owedTo: there, now: now) == 0)
        case .destinations: #expect(try await store.destinations() == [there])
        case .status: #expect(try await store.status(of: there, now: now).failures == ["HTTP 400": 1])
        case .waiting: #expect(try await store.waiting(after: 0, limit: 9).map(\.reason) == ["HTTP 400"])
        case .ledger: #expect(try await store.ledger(of: there) == Ledger(accepted: 1, pending: 1))
        case .remove: #expect(try await store.remove(owedTo: there, as: .purged) == 1)
        case .finishErasing: try await store.finishErasing()
        case .setValue: try await store.setValue([1], for: "a")
        case .value: #expect(try await store.value(for: "a") == [1])
        case .update: #expect(try await store.update("a", to: [2], if: nil) == .conflict([1]))
        case .keys: #expect(try await store.keys(beginningWith: "") == ["a"])
        case .removeAll:
            try await store.removeAll(beginningWith: "a")
            #expect(try await store.baseState.value(for: "a") == nil)
        }
    }

    private static let operations: [StoreOperation] = [
        .append, .setConsent, .lease, .isCurrent, .settle, .release, .expire, .destinations, .status, .waiting,
        .ledger, .remove, .finishErasing, .setValue, .value, .update, .keys, .removeAll,
    ]

    @Test("each operation is forwarded once, with the underlying store's effect")
    func passesOn() async throws {
        #expect(Set(Self.operations) == Set(StoreOperation.allCases))
        let store = Plain()
        for operation in Self.operations { try await use(operation, of: store) }
        #expect(store.passed.withLock { $0 } == Self.operations)
    }

    @Test("operations that aren't forwarded have no effect", arguments: operations)
    func refuses(_ operation: StoreOperation) async throws {
        let store = Plain()
        store.isClosed.withLock { $0 = true }
        await #expect(throws: ExperimentationError(.store, "closed")) { try await use(operation, of: store) }
        #expect(try await store.base.ledger() == Ledger())
        #expect(try await store.baseState.keys(beginningWith: "").isEmpty)
    }
}
