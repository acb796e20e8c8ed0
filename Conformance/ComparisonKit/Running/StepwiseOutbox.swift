import Experimentation
import Foundation
import Synchronization

/// An outbox that hands nothing out while a step puts events into it.
///
/// A vendor that takes events by the hundred would otherwise get a first batch whose size depends on thread scheduling,
/// and the results would differ between runs.
final class StepwiseOutbox: OutboxStoreDecorator {
    let base: any OutboxStore
    /// Closed while a step puts events in.
    private let filling = Mutex<AsyncGate?>(nil)

    private let watched = Mutex(Watched())

    private struct Watched {
        var leased: [String: Envelope] = [:]
        var delivered: [Envelope] = []
        var operations = 0
    }

    init(_ base: any OutboxStore) { self.base = base }

    /// The events that the adapter reported as delivered, in that order.
    var delivered: [Envelope] { watched.withLock { $0.delivered } }

    /// How often events were accepted or about to be sent, which tells slow work from work that makes no progress.
    var operations: Int { watched.withLock { $0.operations } }

    /// Starts a step that puts events in.
    func beginFilling() { filling.withLock { $0 = $0 ?? AsyncGate() } }

    /// Ends the step and releases waiting readers.
    func endFilling() {
        let gate = filling.withLock { gate in
            defer { gate = nil }
            return gate
        }
        gate?.open()
    }

    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        let value = try await body()
        if [.append, .isCurrent].contains(operation) { watched.withLock { $0.operations += 1 } }
        return value
    }

    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        if let gate = filling.withLock({ $0 }), await !gate.wait() { return .nothing(until: nil) }
        let answer = try await base.lease(request)
        if case .leased(let lease) = answer {
            watched.withLock { watched in
                for envelope in lease.batches.joined() { watched.leased[envelope.id] = envelope }
            }
        }
        return answer
    }

    func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        let isSettled = try await base.settle(settlements, under: token, now: now)
        guard isSettled else { return false }
        watched.withLock { watched in
            for settlement in settlements where settlement.outcome == .delivered {
                if let envelope = watched.leased.removeValue(forKey: settlement.id) {
                    watched.delivered.append(envelope)
                }
            }
        }
        return true
    }
}
