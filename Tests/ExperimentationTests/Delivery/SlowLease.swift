import Experimentation
import ExperimentationTesting
import Foundation

/// A store of which one lease is given only when a test says so.
final class SlowLease: OutboxStore {
    private let inner = InMemoryOutboxStore()
    private let leased = AsyncStream.makeStream(of: Void.self)
    private let gate = AsyncStream.makeStream(of: Void.self)
    private let before: Shared<Int>

    /// Creates a store.
    ///
    /// - Parameter number: Which of the leases that give something is slow, the first being 1.
    init(number: Int = 1) { before = Shared(number) }

    func untilLeased() async { for await _ in leased.stream { return } }
    func goOn() { gate.continuation.yield() }

    func lease(_ wanted: LeaseRequest) async throws(ExperimentationError) -> [[Envelope]] {
        let batches = try await inner.lease(wanted)
        guard !batches.isEmpty else { return batches }
        before.value -= 1
        guard before.value == 0 else { return batches }
        leased.continuation.yield()
        for await _ in gate.stream { break }
        return batches
    }
    func append(_ envelopes: [Envelope], isHeld: Bool) async throws(ExperimentationError) {
        try await inner.append(envelopes, isHeld: isHeld)
    }
    func settle(_ settlements: [Settlement]) async throws(ExperimentationError) { try await inner.settle(settlements) }
    func release(userID: String) async throws(ExperimentationError) { try await inner.release(userID: userID) }
    func purge(userID: String) async throws(ExperimentationError) -> Int { try await inner.purge(userID: userID) }
    func expire(before date: Date) async throws(ExperimentationError) -> Int { try await inner.expire(before: date) }
    func status(now: Date) async throws(ExperimentationError) -> OutboxStatus { try await inner.status(now: now) }
    func ledger() async throws(ExperimentationError) -> Ledger { try await inner.ledger() }
}
