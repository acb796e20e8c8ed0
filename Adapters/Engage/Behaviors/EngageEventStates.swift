import Experimentation

/// The number of events in each of the reference's states.
public struct EngageEventStates: Sendable, Hashable {
    /// `HOLD`: in a delivery, waiting for plug-ins.
    public var completing: Int
    /// `NOT_POSTED`: ready, or waiting after an outage.
    public var pending: Int
    /// Held for consent, which the reference doesn't have.
    public var held: Int
    /// `PROCESSING`: in a delivery.
    public var inFlight: Int
    /// `SUCCESSFULLY_POSTED`.
    public var delivered: Int
    /// `FAILED_POST`: refused permanently, or as often as allowed.
    public var failed: Int
    /// Purged unsent after the retention period, which the reference doesn't count.
    public var purgedByAge: Int
    /// `EXPIRED`: sent, or to be sent, without some plug-in's additions, since the provider was created.
    ///
    /// They are also counted in the other states.
    public var incomplete: Int
}

extension Engage {
    /// Counts events by the reference's states.
    public func eventStates(in client: ExperimentationClient) async throws(ExperimentationError) -> EngageEventStates {
        let status = try await client.outboxStatus()
        let ledger = try await client.ledger()
        let counts = completed.counts
        return EngageEventStates(
            completing: min(counts.underWay, status.leased),
            pending: status.ready + status.delayed,
            held: status.held,
            inFlight: status.leased - min(counts.underWay, status.leased),
            delivered: ledger.delivered,
            failed: (ledger.dropped[.exhausted] ?? 0) + (ledger.dropped[.rejected] ?? 0),
            purgedByAge: ledger.dropped[.expired] ?? 0,
            incomplete: counts.expired
        )
    }
}
