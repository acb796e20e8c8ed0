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
        var isAway = false
        var kept = KeptEvents()
    }

    init(_ base: any OutboxStore) { self.base = base }

    /// The events that the adapter reported as delivered, in that order.
    var delivered: [Envelope] { watched.withLock { $0.delivered } }

    /// How often events were accepted or about to be sent, which tells slow work from work that makes no progress.
    var operations: Int { watched.withLock { $0.operations } }

    /// Sets whether the vendor is away; the events that are accepted meanwhile are followed to their ends.
    func setAway(_ isAway: Bool) { watched.withLock { $0.isAway = isAway } }

    /// Returns the events that were accepted while the vendor was away, with what has become of them.
    func kept() async throws(ExperimentationError) -> KeptEvents {
        try await noteRemoved(as: .dropped)
        return watched.withLock { $0.kept }
    }

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

    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
        let refusals = try await pass(.append) { () async throws(ExperimentationError) in
            try await base.append(events, now: now)
        }
        watched.withLock { if $0.isAway { $0.kept.accept(events, refusals) } }
        return refusals
    }

    func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        // Events that are gone by now have expired or made room; those that are gone afterwards were purged.
        try await noteRemoved(as: .dropped)
        let outcome = try await base.setConsent(changes)
        if outcome.removed > 0 { try await noteRemoved(as: .purged) }
        return outcome
    }

    /// Notes which kept events the store has removed by itself.
    private func noteRemoved(as fate: KeptEvents.Fate) async throws(ExperimentationError) {
        guard watched.withLock({ $0.kept.isAnyWaiting }) else { return }
        var waiting: Set<KeptEvents.Owed> = []
        try await base.visitWaiting { event in
            for delivery in event.deliveries {
                waiting.insert(KeptEvents.Owed(id: event.envelope.id, destination: delivery.destination))
            }
        }
        watched.withLock { $0.kept.remove(allBut: waiting, as: fate) }
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
        let isCurrent = try await base.settle(settlements, under: token, now: now)
        watched.withLock { watched in
            // What the vendor has counts as delivered even if the lease has ended.
            for settlement in settlements where settlement.outcome == .delivered {
                if let envelope = watched.leased.removeValue(forKey: settlement.id) {
                    watched.delivered.append(envelope)
                }
            }
            watched.kept.settle(settlements, at: token.destination, isCurrent: isCurrent)
        }
        return isCurrent
    }
}
