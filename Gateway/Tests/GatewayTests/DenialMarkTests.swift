import Experimentation
import Foundation
import GatewayBodies
import Testing

@testable import GatewayServer

/// An outbox that is full a number of times.
private struct FullOutbox: OutboxStoreDecorator {
    let base: any OutboxStore
    /// How many times.
    let refusals: Shared<Int>

    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
        guard refusals.takeOne() else { return try await base.append(events, now: now) }
        return events.map { _ in ExperimentationError(.outboxFull, "There is no room.") }
    }
}

@Suite("The mark of a denial that didn't fit into the file")
struct DenialMarkTests {
    private static func taken(
        _ id: String,
        _ kind: TrackingEvent.Kind,
        _ consent: Consent = .granted
    ) -> [Result<EventRequest, EventRefusal>] {
        let user = User(id: "ada", consent: consent)
        return [
            .success(EventRequest(id: id, user: user, isConsentStated: false, event: TrackingEvent(kind), date: nil))
        ]
    }

    @Test("it is removed once the database has the denial, so that a later grant counts in the next outage")
    func gone() async throws {
        let (isAway, refusals) = (Shared(true), Shared(1))
        let client = try await ExperimentationClient(provider: Served.publisher())
        let meanwhile = try await Meanwhile(
            scope: "s",
            bytes: 1_000_000,
            environment: ClientEnvironment(),
            database: DatabaseSight { isAway.value }
        ) { _ in
            ClientStore(
                outbox: FullOutbox(base: InMemoryOutboxStore(), refusals: refusals),
                state: InMemoryStateStore()
            )
        }
        let seen = SeenEvents(state: InMemoryStateStore(), time: SystemTime(), isShared: true)
        let intake = try await EventIntake(client, seen: seen, meanwhile: meanwhile)
        func refusal(_ events: [Result<EventRequest, EventRefusal>]) async -> ErrorCode? {
            if case .refused(let refusal)? = await intake.take(events).first { refusal.code } else { nil }
        }
        let denial = Self.taken("no", .consentChanged(granted: false))
        #expect(await refusal(denial) == .outboxFull)
        // The denial has been stated, although it has to be sent again.
        #expect(await refusal(Self.taken("1", .installed)) == .consentDenied)
        isAway.change { $0 = false }
        #expect(await refusal(denial) == nil)
        #expect(await refusal(Self.taken("yes", .consentChanged(granted: true))) == nil)
        isAway.change { $0 = true }
        #expect(await refusal(Self.taken("2", .installed)) == nil)
        await meanwhile.close()
        await client.shutdown(within: .zero)
    }
}
