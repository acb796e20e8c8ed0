import Experimentation
import ExperimentationTesting
import Foundation
import GatewayBodies
import Testing

@testable import GatewayServer

@Suite("Events whose answer from the store was lost")
struct DoubtfulEventTests {
    private static func event(_ id: String, consent: Consent = .granted) -> EventRequest {
        let user = User(id: "ada", consent: consent)
        return EventRequest(id: id, user: user, isConsentStated: true, event: .installed, date: nil)
    }

    /// An intake over stores that fail so many times.
    private static func opened(
        losses: Int = 0,
        settings: Int = 0,
        isShared: Bool = false,
        time: ManualTime = ManualTime()
    ) async throws -> (intake: EventIntake, client: ExperimentationClient, provider: InMemoryProvider) {
        let outbox = SilentOutbox(base: InMemoryOutboxStore(), losses: Shared(losses))
        let state = FailingState(baseState: InMemoryStateStore(), settings: Shared(settings))
        let provider = Served.publisher()
        let client = try await ExperimentationClient(
            provider: provider,
            store: ClientStore(outbox: outbox, state: state)
        )
        let seen = SeenEvents(state: state, time: time, isShared: isShared)
        return (try await EventIntake(client, seen: seen), client, provider)
    }

    @Test(
        "an event that was stored although its acceptance failed is found when it is sent again",
        arguments: [false, true]
    )
    func stored(isShared: Bool) async throws {
        let (intake, client, _) = try await Self.opened(losses: 1, isShared: isShared)
        let first = await intake.take([.success(Self.event("a"))])
        #expect(first == [.refused(EventRefusal(.store, "The answer was lost."))])
        for _ in 0..<2 { #expect(await intake.take([.success(Self.event("a"))]) == [.repeated]) }
        #expect(try await client.waitingEvents().map(\.envelope.id) == ["a"])
        await client.shutdown(within: .zero)
    }

    @Test("such an event is found after midnight, too", arguments: [false, true])
    func midnight(isShared: Bool) async throws {
        // Two seconds before midnight.
        let time = ManualTime(now: Date(timeIntervalSince1970: 1_795_305_598))
        let (intake, client, _) = try await Self.opened(losses: 1, isShared: isShared, time: time)
        let first = await intake.take([.success(Self.event("a"))])
        #expect(first == [.refused(EventRefusal(.store, "The answer was lost."))])
        time.advance(by: .seconds(7))
        for _ in 0..<2 { #expect(await intake.take([.success(Self.event("a"))]) == [.repeated]) }
        #expect(try await client.waitingEvents().map(\.envelope.id) == ["a"])
        await client.shutdown(within: .zero)
    }

    @Test("an event that was accepted but couldn't be recorded is accepted once, even after its delivery")
    func unrecorded() async throws {
        let (intake, client, provider) = try await Self.opened(settings: 2)
        let state = intake.seen.state
        #expect(await intake.take([.success(Self.event("a"))]) == [.accepted])
        // For the next run, which then looks for it.
        #expect(try await state.keys(beginningWith: "gateway/begun/").count == 1)
        try await client.flush()
        for _ in 0..<3 { #expect(await intake.take([.success(Self.event("a"))]) == [.repeated]) }
        #expect(provider.record.delivered.map(\.id) == ["a"])
        let key = intake.seen.key(SeenEvents.digest("a"), day: intake.seen.today)
        #expect(try await state.value(for: key) == [1])
        await client.shutdown(within: .zero)
    }

    @Test("an event that was certainly refused leaves no claim, so that any instance accepts it later")
    func refused() async throws {
        let (intake, client, _) = try await Self.opened(isShared: true)
        let outcome = await intake.take([.success(Self.event("a", consent: .denied))])
        guard case .refused(let refusal)? = outcome.first else {
            Issue.record("\(outcome)")
            return
        }
        #expect(refusal.code == .consentDenied)
        let other = SeenEvents(state: intake.seen.state, time: intake.seen.time, isShared: true)
        #expect(try await other.claim(SeenEvents.digest("a")) == .claimed)
        await client.shutdown(within: .zero)
    }
}
