import Experimentation

/// The shared database as a destination of the local outbox, which retries, and keeps the order and the ledger.
struct Handover: ExperimentationProvider {
    /// Hands parcels over, and returns a verdict for each.
    typealias Carrier = @Sendable (_ parcels: [Parcel?]) async -> [Verdict]

    let scope: String
    let carrier: Carrier

    let name = "gateway-database"
    let capabilities: Set<Capability> = [.tracking]

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(events: Sink(carrier: carrier))
    }

    private struct Sink: EventSink {
        let carrier: Carrier
        let batching = BatchPolicy(count: 1, largest: 200, interval: .milliseconds(200), attempts: 1_000)

        func check(_ event: TrackingEvent) throws(ExperimentationError) {}

        func deliver(_ batch: [Envelope]) async -> DeliveryReport {
            DeliveryReport(await carrier(batch.map { Parcel($0.event) }))
        }
    }
}
