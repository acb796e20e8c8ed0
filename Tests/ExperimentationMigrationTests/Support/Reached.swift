import Experimentation

/// A vendor as a process reaches it: a dead one delivers nothing more.
struct Reached: ExperimentationProvider {
    let base: any ExperimentationProvider
    let store: MortalStore
    var name: String { base.name }
    var scope: String { base.scope }
    var destination: Destination { base.destination }
    var capabilities: Set<Capability> { base.capabilities }

    init(_ base: any ExperimentationProvider, by store: MortalStore) {
        self.base = base
        self.store = store
    }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await base.start(in: context)
        if let events = roles.events { roles.events = Sink(base: events, store: store) }
        return roles
    }

    private struct Sink: EventSink {
        let base: any EventSink
        let store: MortalStore
        var batching: BatchPolicy { base.batching }

        func check(_ event: TrackingEvent) throws(ExperimentationError) { try base.check(event) }

        func deliver(_ batch: [Envelope]) async -> DeliveryReport {
            store.isDead ? DeliveryReport(.outage()) : await base.deliver(batch)
        }
    }
}
