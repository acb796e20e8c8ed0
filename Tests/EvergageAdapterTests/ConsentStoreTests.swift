import Experimentation
import Testing

@testable import EvergageAdapter

@Suite("Consent and a store that fails")
@MainActor
struct ConsentStoreTests {
    @Test("a denial holds after a restart, even if the process ended before the client knew of it")
    func storedFirst() async throws {
        let state = InMemoryStateStore()
        let outbox = StuckOutbox()
        let first = try await App(store: ClientStore(outbox: outbox, state: state))
        first.evergage.setConsent(.granted)
        await first.settle()
        first.evergage.setConsent(.denied)
        try await outbox.denials.isReached()
        let second = try await App(store: ClientStore(outbox: InMemoryOutboxStore(), state: state))
        try second.global.trackAction("A")
        await second.settle()
        #expect(second.actions == [])
        outbox.denials.open()
        await first.settle()
    }
}

/// An outbox that carries out no denial before a test lets it.
private final class StuckOutbox: OutboxStoreDecorator {
    let base: any OutboxStore = InMemoryOutboxStore()
    let denials = Turnstile()

    func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        if changes.contains(where: { !$0.isGranted }) { await denials.pass() }
        return try await base.setConsent(changes)
    }
}
