import ExperimentationTesting
import Foundation
import Testing

@testable import Experimentation

@Suite("A lease that a round leaves to the next one", .timeLimit(.minutes(1)))
struct LeftLeaseTests {
    private let time = InterruptedTime()
    private let store = InMemoryOutboxStore()

    /// Makes something happen at a reading of the clock after the vendor accepted one user's event and not the other's:
    /// another round follows, under the same lease.
    private func interrupt(
        at reading: Int,
        _ interruption: @escaping @Sendable (Outbox) -> Void
    ) async throws -> ExperimentationClient {
        let vendor = ScriptedVendor()
        let client = try await vendor.client(
            store: ClientStore(outbox: store, state: InMemoryStateStore()),
            time: time
        )
        vendor.answer { [time] batch in
            time.interrupt(reading) { interruption(client.core.outbox) }
            return DeliveryReport(batch.map { $0.identity.id == "ada" ? .failed("busy") : .delivered })
        }
        for (number, user) in ["ada", "bob"].enumerated() {
            try await client.session(for: User(id: user)).track(.numbered(number))
        }
        client.core.outbox.deliverers[0].deliverNow()
        await time.base.settle()
        return client
    }

    @Test("ends at once if a hold keeps the next round from beginning, whenever the hold comes", arguments: 1...12)
    func held(reading: Int) async throws {
        let client = try await interrupt(at: reading) { $0.set(.offline, true) }
        #expect(try await store.isFree(client.core.outbox.destinations[0], at: time.now))
        await client.shutdown(within: .zero)
    }

    @Test("ends at once if the client shuts down, so that the next run needn't wait", arguments: 1...12)
    func closed(reading: Int) async throws {
        let client = try await interrupt(at: reading) { $0.set(.closed, true) }
        #expect(try await store.isFree(client.core.outbox.destinations[0], at: time.now))
    }
}

extension OutboxStore {
    /// Whether another process could take a destination's lane.
    func isFree(_ destination: Destination, at now: Date) async throws(ExperimentationError) -> Bool {
        let another = LeaseRequest(for: destination, owner: -1, of: 1, now: now, until: now + 1)
        switch try await lease(another) {
        case .busy: return false
        case .leased(let lease):
            try await release(lease.token, pause: nil, now: now)
            return true
        case .nothing, .paused, .lost: return true
        }
    }
}
