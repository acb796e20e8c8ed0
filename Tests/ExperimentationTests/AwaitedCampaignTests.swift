import ExperimentationTesting
import Foundation
import Synchronization
import Testing

@testable import Experimentation

@Suite("Whether an answer's campaigns can still be shown")
struct AwaitedCampaignTests {
    /// A vendor that keeps the context it is started in.
    private final class KeepingProvider: ExperimentationProvider {
        let name = "keeping"
        let scope = ""
        let capabilities: Set<Capability> = [.tracking, .campaigns]
        private let kept = Mutex<ProviderContext?>(nil)
        var context: ProviderContext? { kept.withLock { $0 } }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            kept.withLock { $0 = context }
            return ProviderRoles(events: Taker(), campaigns: CampaignPolicy(limitPerTarget: 1))
        }
    }

    private struct Taker: EventSink {
        let batching = BatchPolicy()
        func check(_ event: TrackingEvent) throws(ExperimentationError) {}
        func deliver(_ batch: [Envelope]) async -> DeliveryReport { DeliveryReport(.outage()) }
    }

    private let time = ManualTime()

    private func event(
        of session: UserSession? = nil,
        on surface: String? = nil,
        after seconds: Double = 0
    ) -> Envelope {
        Envelope(
            id: "e",
            identity: Identity(id: "u"),
            session: session?.id ?? "",
            surface: surface,
            event: .custom("A"),
            date: time.now + seconds
        )
    }

    @Test("in a session, they can until the surface is closed")
    func surfaces() async throws {
        let provider = KeepingProvider()
        let client = try await ExperimentationClient(provider: provider, environment: ClientEnvironment(time: time))
        let context = try #require(provider.context)
        let session = client.session(for: User(id: "u"))
        try session.trackSoon(.custom("A"), on: "home")
        // Captured before the start.
        #expect(context.awaitsCampaigns(of: event(of: session, after: -10)))
        #expect(context.awaitsCampaigns(of: event(of: session, on: "home")))
        session.closeSurface("home")
        #expect(!context.awaitsCampaigns(of: event(of: session, on: "home")))
        #expect(context.awaitsCampaigns(of: event(of: session)))
        // The same holds for a vendor among several.
        #expect(!context.context(of: provider).awaitsCampaigns(of: event(of: session, on: "home")))
    }

    @Test("without a session, they can for events of this run, even if the clock was set back")
    func runs() {
        let context = ProviderContext(environment: ClientEnvironment(time: time))
        #expect(context.awaitsCampaigns(of: event()))
        #expect(!context.awaitsCampaigns(of: event(after: -1)))
        time.setNow(time.now - 60)
        #expect(context.awaitsCampaigns(of: event()))
    }
}
