import Experimentation
import ExperimentationTesting
import Foundation

/// A store that grants one lease only when a test allows it.
final class SlowLease: OutboxStoreDecorator {
    let base: any OutboxStore = InMemoryOutboxStore()
    private let leased = AsyncStream.makeStream(of: Void.self)
    private let gate = AsyncStream.makeStream(of: Void.self)
    private let before: Shared<Int>

    /// Creates a store.
    ///
    /// - Parameter number: Which non-empty lease is slow, from 1.
    init(number: Int = 1) { before = Shared(number) }

    func untilLeased() async { for await _ in leased.stream { return } }
    func goOn() { gate.continuation.yield() }

    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        let answer = try await base.lease(request)
        guard case .leased(let lease) = answer, !lease.batches.isEmpty else { return answer }
        before.value -= 1
        guard before.value == 0 else { return answer }
        leased.continuation.yield()
        for await _ in gate.stream { break }
        return answer
    }
}
