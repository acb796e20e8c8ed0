import ExperimentationTesting
import Foundation
import Synchronization
import Testing
import Waiting

@testable import Experimentation

/// A store whose appends each wait after they are carried out.
private final class SteppedAppends: OutboxStoreDecorator {
    let base: any OutboxStore = InMemoryOutboxStore()
    private let doors: [Door]
    private let count = Mutex(0)

    /// Creates a store.
    ///
    /// - Parameter steps: How many appends wait; later ones don't.
    init(_ steps: Int) { doors = (0..<steps).map { _ in Door() } }

    func untilReached(_ step: Int) async { await doors[step].untilReached() }
    func open(_ step: Int) { doors[step].open() }

    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
        let step = count.withLock { count in
            defer { count += 1 }
            return count
        }
        let answer = try await base.append(events, now: now)
        if step < doors.count { await doors[step].pass() }
        return answer
    }
}

@Suite("Callers carry the line into the store in turn")
struct CarryingTests {
    private static let destination = Destination(provider: "scripted", account: "a")

    private func intake(
        _ store: any OutboxStore,
        stored: @escaping @Sendable ([NewEvent]) -> Void = { _ in }
    ) -> Intake {
        let environment = ClientEnvironment(time: ManualTime())
        let kept = KeptState(store: InMemoryStateStore(), of: Self.destination, log: environment.log)
        let owed = OwedDenials(store: store, kept: kept, log: environment.log)
        return Intake(store: store, owed: owed, environment: environment, stored: stored)
    }

    private func event(_ number: Int) -> Intake.Statement {
        let envelope = Envelope(
            id: "\(number)",
            identity: Identity(id: "ada"),
            event: .numbered(number),
            date: .distantPast
        )
        return .event(NewEvent(envelope, owedTo: [.init(to: Self.destination, isHeld: false)]))
    }

    /// A caller whose event, the first one, is being stored.
    private func carrier(of intake: Intake, _ store: SteppedAppends) async -> Task<ConsentOutcome, any Error> {
        let ticket = intake.enter(event(0))
        let carrying = Task { try await intake.outcome(of: ticket) }
        await store.untilReached(0)
        return carrying
    }

    @Test("many callers are answered while the next transaction is in progress, and in order")
    func answers() async throws {
        let store = SteppedAppends(3)
        let told = Shared<[Int]>([])
        let intake = intake(store) { events in told.change { $0.append(events.count) } }
        let answered = Shared<[Int]>([])
        func note(_ number: Int) { intake.note(event(number)) { _ in answered.change { $0.append(number) } } }
        note(0)
        await store.untilReached(0)
        for number in 1...Intake.few + 1 { note(number) }
        store.open(0)
        await store.untilReached(1)
        note(Intake.few + 2)
        store.open(1)
        await store.untilReached(2)
        try await eventually("the second transaction's callers are answered") {
            answered.value == Array(0...Intake.few + 1)
        }
        store.open(2)
        try await intake.untilStored()
        #expect(answered.value == Array(0...Intake.few + 2))
        #expect(told.value == [1, Intake.few + 1, 1])
    }

    @Test("a caller whose event is stored doesn't wait for other callers' events")
    func handedOver() async throws {
        let store = SteppedAppends(2)
        let intake = intake(store)
        let carrying = await carrier(of: intake, store)
        let (second, third) = (intake.enter(event(1)), intake.enter(event(2)))
        let answered = Shared<[Int]>([])
        second.answer.whenGiven { _ in answered.change { $0.append(1) } }
        third.answer.whenGiven { _ in answered.change { $0.append(2) } }
        let waiting = [second, third].map { ticket in Task { try await intake.outcome(of: ticket) } }
        store.open(0)
        _ = try await carrying.value
        await store.untilReached(1)
        #expect(answered.value == [])
        store.open(1)
        for task in waiting { _ = try await task.value }
        #expect(answered.value == [1, 2])
        #expect(try await store.ledger(of: Self.destination).accepted == 3)
        #expect(!intake.state.withLock { $0.isCarried })
    }

    @Test("a caller that is chosen to carry the line before it waits does so as soon as it waits")
    func askedEarly() async throws {
        let store = SteppedAppends(1)
        let intake = intake(store)
        let carrying = await carrier(of: intake, store)
        let second = intake.enter(event(1))
        intake.note(event(2))
        store.open(0)
        _ = try await carrying.value
        #expect(try await store.ledger(of: Self.destination).accepted == 1)
        try await intake.outcome(of: second)
        #expect(try await store.ledger(of: Self.destination).accepted == 3)
    }

    @Test("a cancelled caller carries the line nevertheless")
    func cancelled() async throws {
        let store = SteppedAppends(1)
        let intake = intake(store)
        let carrying = await carrier(of: intake, store)
        let second = intake.enter(event(1))
        let waiting = Task { try await intake.outcome(of: second) }
        waiting.cancel()
        let mark = Task { try await intake.untilStored() }
        store.open(0)
        _ = try await carrying.value
        _ = try await waiting.value
        try await mark.value
        #expect(try await store.ledger(of: Self.destination).accepted == 2)
    }

    @Test("a noted event behind a caller's is carried without another caller")
    func noted() async throws {
        let store = SteppedAppends(2)
        let intake = intake(store)
        let carrying = await carrier(of: intake, store)
        intake.note(event(1))
        let second = intake.enter(event(2))
        store.open(0)
        _ = try await carrying.value
        await store.untilReached(1)
        store.open(1)
        try await intake.outcome(of: second)
        #expect(try await store.ledger(of: Self.destination).accepted == 3)
    }
}
