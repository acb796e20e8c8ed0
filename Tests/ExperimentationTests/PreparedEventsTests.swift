import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@Suite("Events for which a provider reads something first")
struct PreparedEventsTests {
    /// A provider that accepts no event before it has read the data that it needs.
    private struct Reading: ExperimentationProvider {
        let vendor: InMemoryProvider
        let mayRead: @Sendable () -> Bool
        var name: String { vendor.name }
        var scope: String { vendor.scope }
        var capabilities: Set<Capability> { vendor.capabilities }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            var roles = try await vendor.start(in: context)
            let hasRead = Box()
            roles.events = roles.events.map { Sink(base: $0, hasRead: hasRead) }
            roles.prepare = { [mayRead] _ async throws(ExperimentationError) in
                guard mayRead() else { throw ExperimentationError(.store, "The database is locked.") }
                hasRead.isSet.withLock { $0 = true }
            }
            return roles
        }
    }

    private final class Box: Sendable {
        let isSet = Mutex(false)
    }

    private struct Sink: EventSink {
        let base: any EventSink
        let hasRead: Box
        var batching: BatchPolicy { base.batching }

        func check(_ event: TrackingEvent) throws(ExperimentationError) {
            guard hasRead.isSet.withLock({ $0 }) else { throw ExperimentationError(.unsupported, "Nothing was read.") }
            try base.check(event)
        }

        func deliver(_ batch: [Envelope]) async -> DeliveryReport { await base.deliver(batch) }
    }

    /// How an event arrives.
    enum Way: CaseIterable { case session, user, consent }

    @Test("the data is read before the check, and without it no event is accepted", arguments: Way.allCases)
    func read(way: Way) async throws {
        let mayRead = Mutex(false)
        let vendor = InMemoryProvider(batching: BatchPolicy(count: 1, interval: .zero), needsConsent: false)
        let client = try await ExperimentationClient(
            provider: Reading(vendor: vendor) { mayRead.withLock { $0 } },
            store: .inMemory()
        )
        let session = client.session(for: User(id: "ada"))
        func come() async throws(ExperimentationError) {
            switch way {
            case .session: try await session.track(.custom("goal"))
            case .user: try await client.track(.custom("goal"), for: User(id: "ada"))
            case .consent: try await session.setConsent(.granted)
            }
        }
        let error = await #expect(throws: ExperimentationError.self) { try await come() }
        #expect(error?.code == .store)
        #expect(try await client.ledger().accepted == 0)
        mayRead.withLock { $0 = true }
        try await come()
        _ = try await client.flush()
        let granted = TrackingEvent(.consentChanged(granted: true))
        #expect(vendor.delivered == [way == .consent ? granted : .custom("goal")])
        await client.shutdown(within: .zero)
    }
}
