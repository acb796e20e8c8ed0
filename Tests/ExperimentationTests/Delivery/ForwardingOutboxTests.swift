import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization
import Testing

@Suite("An outbox that passes on what it doesn't do itself")
struct ForwardingOutboxTests {
    private final class Plain: ForwardingOutbox {
        let inner: any OutboxStore = InMemoryOutboxStore()
        let asked = Mutex(0)
        let isClosed = Mutex(false)

        func willForward() throws(ExperimentationError) {
            asked.withLock { $0 += 1 }
            if isClosed.withLock({ $0 }) { throw ExperimentationError(.store, "closed") }
        }
    }

    private typealias Operation = @Sendable (any OutboxStore) async throws -> Void

    private static let now = Date(timeIntervalSince1970: 1_795_262_400)

    private static let envelope = Envelope(id: "1", identity: Identity(id: "u"), event: .installed, date: now)

    private static let operations: [Operation] = [
        { store in try await store.append([envelope], isHeld: true) },
        { store in
            let waiting = try await store.waiting(after: 0, limit: 9)
            #expect(waiting.map(\.envelope.id) == ["1"])
        },
        { store in try await store.release(userID: "u") },
        { store in
            let leased = try await store.lease(9, bytes: .max, now: now, until: now + 60)
            #expect(leased.map(\.id) == ["1"])
        },
        { store in
            let status = try await store.status(now: now)
            #expect(status.leased == 1)
        },
        { store in try await store.settle([.retry(id: "1", at: now, attempts: 1, reason: "")]) },
        { store in
            let expired = try await store.expire(before: now)
            #expect(expired == 0)
        },
        { store in
            let purged = try await store.purge(userID: "u")
            #expect(purged == 1)
        },
        { store in
            let ledger = try await store.ledger()
            #expect(ledger == Ledger(accepted: 1, purged: 1))
        },
    ]

    @Test("does all that the other one does, and asks first each time")
    func passesOn() async throws {
        let outbox = Plain()
        for operation in Self.operations { try await operation(outbox) }
        #expect(outbox.asked.withLock { $0 } == Self.operations.count)
    }

    @Test("does nothing that it may not")
    func refuses() async throws {
        let outbox = Plain()
        outbox.isClosed.withLock { $0 = true }
        for operation in Self.operations {
            await #expect(throws: ExperimentationError(.store, "closed")) { try await operation(outbox) }
        }
        #expect(try await outbox.inner.ledger() == Ledger())
    }
}
