import ExperimentationTesting
import Foundation
import Testing
import Waiting

@testable import Experimentation

/// A store that takes no events of one user.
private struct Refusing: OutboxStoreDecorator {
    let base: any OutboxStore = InMemoryOutboxStore()
    let user: String

    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
        if events.contains(where: { $0.envelope.identity.id == user }) { throw ExperimentationError(.store, "no disk") }
        return try await base.append(events, now: now)
    }
}

@Suite("Each user's statements take one of two ways into the store")
struct IntakesTests {
    private static let destination = Destination(provider: "scripted", account: "a")
    /// Two users whose statements take different ways.
    private static let (ada, bo) = ("ada", "bo")

    private func intakes(_ store: any OutboxStore) -> Intakes {
        let environment = ClientEnvironment(time: ManualTime())
        let kept = KeptState(store: InMemoryStateStore(), of: Self.destination, log: environment.log)
        let owed = OwedDenials(store: store, kept: kept, log: environment.log)
        return Intakes { Intake(store: store, owed: owed, environment: environment) { _ in } }
    }

    private func event(_ number: Int, of user: String) -> Intake.Statement {
        let envelope = Envelope(
            id: "\(user)-\(number)",
            identity: Identity(id: user),
            event: .numbered(number),
            date: .distantPast
        )
        return .event(NewEvent(envelope, to: Self.destination))
    }

    @Test("a caller doesn't wait for the transaction of the other way")
    func aside() async throws {
        let store = SteppedAppends(1)
        let intakes = intakes(store)
        let slow = Task { try await intakes[Self.ada].enter(event(0, of: Self.ada)).outcome() }
        await store.untilReached(0)
        try await intakes[Self.bo].enter(event(1, of: Self.bo)).outcome()
        #expect(try await store.ledger(of: Self.destination).accepted == 2)
        store.open(0)
        _ = try await slow.value
    }

    @Test("the events of each of many users are stored in their order")
    func order() async throws {
        let store = InMemoryOutboxStore()
        let intakes = intakes(store)
        let users = (0..<8).map { "user-\($0)" }
        for number in 0..<50 { for user in users { intakes[user].note(event(number, of: user)) } }
        try await intakes.untilStored()
        let stored = try await store.waiting(after: 0, limit: 1_000).map(\.envelope)
        for user in users {
            #expect(stored.filter { $0.identity.id == user }.map(\.id) == (0..<50).map { "\(user)-\($0)" })
        }
    }

    @Test("everything is stored only when both ways have stored what was stated", arguments: [ada, bo])
    func both(slow: String) async throws {
        let store = SteppedAppends(1)
        let intakes = intakes(store)
        intakes[slow].note(event(0, of: slow))
        await store.untilReached(0)
        let calls = Shared(0)
        intakes.whenStored { calls.change { $0 += 1 } }
        let waiting = Task { try await intakes.untilStored() }
        try await eventually("the other way's earlier statements are stored") { calls.value == 1 }
        store.open(0)
        try await waiting.value
        #expect(calls.value == 2)
    }

    @Test("waiting for both ways fails as either does", arguments: [ada, bo])
    func failing(user: String) async throws {
        let intakes = intakes(Refusing(user: user))
        for user in [Self.ada, Self.bo] { intakes[user].note(event(0, of: user)) }
        await #expect(throws: ExperimentationError(.store, "no disk")) { try await intakes.untilStored() }
    }

    @Test("once closed, neither way takes a statement")
    func closed() async throws {
        let intakes = intakes(InMemoryOutboxStore())
        intakes.close()
        for user in [Self.ada, Self.bo] {
            await #expect(throws: ExperimentationError.shutDown) {
                try await intakes[user].enter(event(0, of: user)).outcome()
            }
            #expect(!intakes[user].note(event(1, of: user)))
        }
    }
}
