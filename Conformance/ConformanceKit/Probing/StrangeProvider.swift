import Experimentation
import Synchronization

/// Another vendor alongside the one under test: it accepts every event, or is unavailable.
final class StrangeProvider: ExperimentationProvider, EventSink {
    private let state = Mutex<(taken: [String], isAway: Bool)>(([], false))

    let name = "stranger"
    let scope = "conformance"
    let capabilities: Set<Capability> = [.tracking]
    let batching = BatchPolicy(count: 10, interval: .seconds(5))

    /// The names of the events that it accepted, in the order of arrival.
    var taken: [String] { state.withLock { $0.taken } }

    func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(events: self)
    }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {}

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        state.withLock { state in
            if state.isAway { return DeliveryReport(.outage()) }
            for envelope in batch {
                let received = Received(envelope)
                state.taken.append(received.name ?? received.orderID ?? received.items.first ?? received.type)
            }
            return DeliveryReport(.delivered)
        }
    }
}

/// A provider whose events also go to a second destination.
struct AccompaniedProvider: ExperimentationProvider {
    let inner: any ExperimentationProvider
    let companion: StrangeProvider

    var name: String { inner.name }
    var scope: String { inner.scope }
    var capabilities: Set<Capability> { inner.capabilities }
    var destination: Destination { inner.destination }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await inner.start(in: context)
        roles.furtherRoutes.append(EventRoute(to: companion.destination, by: companion))
        return roles
    }
}
