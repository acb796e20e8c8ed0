import Experimentation
import Foundation

@testable import ExperimentationPostgres

/// An outbox of many shards whose users all live in one of them, which isn't the first.
///
/// The contract of stores is about the order of a whole store, which only one shard keeps. Users get a mark of four bytes after
/// their ids that leads them there, and lose it on the way out.
struct NeighboursOutbox: OutboxStoreDecorator {
    let store: PostgresStore
    private let outbox: PostgresOutboxStore

    private static let shard: Int64 = 11
    private static let length = 4

    /// How many bytes the marks add to an event.
    static let growth = length

    init(_ store: PostgresStore, _ outbox: PostgresOutboxStore) { (self.store, self.outbox) = (store, outbox) }

    var base: any OutboxStore { outbox }

    private func led(_ userID: String) -> String {
        let candidates = (0..<1_000).lazy.map { userID + "#" + String("00\($0)".suffix(3)) }
        return candidates.first { outbox.person($0).shard == Self.shard } ?? userID
    }

    private func unmarked(_ envelope: Envelope) -> Envelope {
        var envelope = envelope
        envelope.identity.id = String(decoding: envelope.identity.id.utf8.dropLast(Self.length), as: UTF8.self)
        return envelope
    }

    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
        let marked = events.map { event in
            var envelope = event.envelope
            envelope.identity.id = led(envelope.identity.id)
            return NewEvent(envelope, owedTo: event.deliveries, grantsConsent: event.grantsConsent)
        }
        return try await outbox.append(marked, now: now)
    }

    func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        try await outbox.setConsent(
            changes.map { ConsentChange(userID: led($0.userID), isGranted: $0.isGranted) }
        )
    }

    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        let answer = try await outbox.lease(request)
        guard case .leased(var lease) = answer else { return answer }
        lease.batches = lease.batches.map { $0.map(unmarked) }
        return .leased(lease)
    }

    func waiting(after sequence: Int64, limit: Int) async throws(ExperimentationError) -> [WaitingEvent] {
        try await outbox.waiting(after: sequence, limit: limit).map { event in
            var event = event
            event.envelope = unmarked(event.envelope)
            return event
        }
    }
}
