import ExperimentationTesting
import Foundation
import Synchronization
import Testing

@testable import Experimentation

@Suite("Consent after a denial in another session")
struct ConsentAgainTests {
    private let ada = User(id: "ada", consent: .granted)

    /// How a user consents again.
    enum Return: CaseIterable, Sendable {
        case choice, ownChoice, event, exposure, session, naming

        func consent(_ client: ExperimentationClient, _ session: UserSession) async throws {
            let ada = User(id: "ada", consent: .granted)
            switch self {
            case .choice: try await client.setConsent(.granted, for: ada)
            case .ownChoice: try await session.setConsent(.granted)
            case .event: try await client.track(.custom("back"), for: ada)
            case .exposure: try await client.decisions(for: ada).expose("e")
            case .session: _ = client.session(for: ada)
            case .naming: client.session(for: User(id: "bob", consent: .granted)).identify(Identity(id: "ada"))
            }
            try await client.untilStored()
        }
    }

    @Test("assignments are stored again, even if the session didn't learn of the denial", arguments: Return.allCases)
    func storedAgain(by way: Return) async throws {
        let provider = InMemoryProvider(experiments: AssignmentTests.arms(100, 0))
        let store = ClientStore.inMemory()
        let client = try await ExperimentationClient(provider: provider, store: store)
        let session = client.session(for: ada)
        try await session.refresh()
        try await client.setConsent(.denied, for: ada)
        try await way.consent(client, session)
        try await session.refresh(force: true)
        await client.shutdown(within: .zero)
        provider.replace(flags: [], experiments: AssignmentTests.arms(0, 100))
        let later = try await ExperimentationClient(provider: provider, store: store).session(for: ada)
        try await later.refresh()
        #expect(later.string("f", default: "") == "a")
    }

    @Test(
        "the vendor is notified of a user's latest choice last, even if an earlier notification takes longer",
        .timeLimit(.minutes(1))
    )
    func lastSignal() async throws {
        let (isUnderWay, mayEnd) = (AsyncGate(), AsyncGate())
        let vendor = ScriptedVendor()
        vendor.answer { _ in
            isUnderWay.open()
            // Cancelling it doesn't end it.
            _ = await Task { await mayEnd.wait() }.value
            return DeliveryReport(.delivered)
        }
        let client = try await vendor.client()
        try await client.track(.numbered(1), for: ada)
        let flushing = Task { try await client.flush(retrying: false) }
        await isUnderWay.wait()
        let denying = Task { try await client.setConsent(.denied, for: ada) }
        await yield(until: { client.core.outbox.isDenied(by: "ada") })
        try await client.setConsent(.granted, for: ada)
        mayEnd.open()
        try await denying.value
        _ = try await flushing.value
        #expect(try await client.flush(retrying: false).isDone)
        let signals = vendor.record.received.map(\.event).filter(\.isConsentSignal)
        #expect(signals.last == TrackingEvent(.consentChanged(granted: true)), "\(signals)")
        await client.shutdown(within: .zero)
    }

    @Test("the vendor is notified of a choice the session knew already if another session chose otherwise meanwhile")
    func ownSignals() async throws {
        let vendor = ScriptedVendor()
        let client = try await vendor.client()
        let session = client.session(for: ada)
        try await client.setConsent(.denied, for: ada)
        for consent in [Consent.granted, .granted, .denied, .denied] { try await session.setConsent(consent) }
        try await client.setConsent(.granted, for: ada)
        for _ in 0..<2 { try await session.setConsent(.denied) }
        try await client.flush(retrying: false)
        let signals = [false, true, false, true, false].map { TrackingEvent(.consentChanged(granted: $0)) }
        #expect(vendor.record.received.map(\.event) == signals)
        await client.shutdown(within: .zero)
    }

    @Test("an event with consent that the store couldn't take doesn't end a later denial", .timeLimit(.minutes(1)))
    func eventBeforeDenial() async throws {
        let vendor = ScriptedVendor()
        let store = FailingAppend()
        let client = try await vendor.client(store: ClientStore(outbox: store, state: InMemoryStateStore()))
        let session = client.session(for: ada)
        try session.trackSoon(.numbered(1))
        await store.reached.wait()
        let denying = Task { try await session.setConsent(.denied) }
        await yield(until: { client.core.outbox.isDenied(by: "ada") })
        store.mayFail.open()
        await #expect(throws: ExperimentationError.self) { try await denying.value }
        try await client.track(.numbered(2), for: User(id: "bob", consent: .granted))
        try await client.flush(retrying: false)
        #expect(vendor.record.received.compactMap(\.event.number) == [2])
        await client.shutdown(within: .zero)
    }
}

/// A store whose first events wait and then fail.
private struct FailingAppend: OutboxStoreDecorator {
    let base: any OutboxStore = InMemoryOutboxStore()
    let reached = AsyncGate()
    let mayFail = AsyncGate()

    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
        if !reached.isOpen {
            reached.open()
            await mayFail.wait()
            throw ExperimentationError(.store, "The disk failed.")
        }
        return try await base.append(events, now: now)
    }
}
