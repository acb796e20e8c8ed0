import ExperimentationTesting
import Foundation
import Synchronization
import Testing

@testable import Experimentation

/// A store whose transactions include events that arrive until none does, after a test's next step.
private final class JoinedStore: OutboxStoreDecorator {
    let base: any OutboxStore = InMemoryOutboxStore()
    /// The ids that each transaction has stored.
    let stored = Shared<[[String]]>([])
    let steps = Shared<[@Sendable () -> Void]>([])
    let failures = Shared(0)
    /// The number of events that are stored without an answer.
    let unanswered = Shared(0)

    func append(
        _ events: [NewEvent],
        joinedBy more: @escaping @Sendable (_ count: Int) -> [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?] {
        var all = events
        while true {
            let next = steps.value.first
            steps.change { $0 = Array($0.dropFirst()) }
            next?()
            let arrived = more(all.count)
            // A transaction that runs again gets the same.
            let expected: [String] = (all.dropFirst(events.count) + arrived).map(\.envelope.id)
            let repeated: [String] = more(events.count).map(\.envelope.id)
            #expect(Array(repeated.prefix(expected.count)) == expected)
            if arrived.isEmpty { break }
            all += arrived
        }
        if failures.value > 0 {
            failures.change { $0 -= 1 }
            throw ExperimentationError(.store, "The disk failed.")
        }
        let ids = all.map(\.envelope.id)
        stored.change { $0.append(ids) }
        return Array(try await base.append(all, now: now).dropLast(unanswered.value))
    }
}

@Suite("Events that arrive during a transaction", .timeLimit(.minutes(10)))
struct ArrivingEntriesTests {
    private static let destination = Destination(provider: "scripted", account: "a")
    private let store = JoinedStore()
    private let owed: OwedDenials
    private let intake: Intake

    init() {
        let environment = ClientEnvironment(time: ManualTime())
        let kept = KeptState(store: InMemoryStateStore(), of: Self.destination, log: environment.log)
        owed = OwedDenials(store: store, kept: kept, log: environment.log)
        intake = Intake(store: store, owed: owed, environment: environment) { _ in }
    }

    private func event(_ number: Int, grants: Bool = false) -> Intake.Statement {
        let envelope = Envelope(
            id: "\(number)",
            identity: Identity(id: "ada"),
            event: .numbered(number),
            date: .distantPast
        )
        return .event(NewEvent(envelope, to: Self.destination, grantsConsent: grants))
    }

    /// Makes statements arrive at the next step of a transaction.
    private func arrive(_ statements: Intake.Statement...) {
        store.steps.change { [intake] steps in
            steps.append { for statement in statements { intake.note(statement) } }
        }
    }

    /// Reads the notes of earlier runs, which owe nothing.
    private func begin() async throws { try await owed.carryOut() }

    @Test("they join the transaction, however often some arrive")
    func joining() async throws {
        try await begin()
        arrive(event(2), event(3))
        arrive(event(4))
        let ticket = intake.enter(event(1))
        try await intake.outcome(of: ticket)
        #expect(store.stored.value == [["1", "2", "3", "4"]])
        try await intake.untilStored()
        #expect(!intake.state.withLock { $0.isCarried })
    }

    @Test("a change of consent, and everything behind it, waits for the next transaction")
    func consent() async throws {
        try await begin()
        arrive(event(2), .consent(ConsentChange(userID: "ada", isGranted: false)), event(3))
        try await intake.outcome(of: intake.enter(event(1)))
        try await intake.untilStored()
        #expect(store.stored.value == [["1", "2"], ["3"]])
        #expect(try await store.ledger(of: Self.destination) == Ledger(accepted: 2, purged: 2))
    }

    @Test("an event that states consent waits for the next transaction")
    func granting() async throws {
        try await begin()
        arrive(event(2, grants: true), event(3))
        try await intake.outcome(of: intake.enter(event(1)))
        try await intake.untilStored()
        #expect(store.stored.value == [["1"], ["2", "3"]])
    }

    @Test("while a denial is owed, they wait until it is settled")
    func owing() async throws {
        try await begin()
        store.steps.change { [owed, intake, event = event(2)] steps in
            steps.append {
                owed.hold(["ada"])
                intake.note(event)
            }
        }
        try await intake.outcome(of: intake.enter(event(1)))
        try await intake.untilStored()
        #expect(store.stored.value == [["1"], ["2"]])
    }

    @Test("if the store fails, entries without a waiting caller are stored later, in their order")
    func failing() async throws {
        try await begin()
        store.failures.value = 1
        arrive(event(2), event(3))
        intake.note(event(1))
        await #expect(throws: ExperimentationError.self) { try await intake.untilStored() }
        #expect(intake.state.withLock { $0.line.count } == 3)
        try await intake.outcome(of: intake.enter(event(4)))
        #expect(store.stored.value == [["1", "2", "3", "4"]])
    }

    @Test("callers of a transaction that fails get the error, even those that joined it")
    func told() async throws {
        try await begin()
        store.failures.value = 1
        let joined = Shared<Intake.Ticket?>(nil)
        store.steps.change { [intake, event = event(2)] steps in
            steps.append { joined.value = intake.enter(event) }
        }
        let first = intake.enter(event(1))
        await #expect(throws: ExperimentationError.self) { try await intake.outcome(of: first) }
        let second = try #require(joined.value)
        await #expect(throws: ExperimentationError.self) { try await intake.outcome(of: second) }
        #expect(store.stored.value == [])
    }

    @Test(
        "a store that doesn't return an outcome for each event has failed, and no caller waits forever",
        arguments: [1, 2, 3]
    )
    func unanswered(_ count: Int) async throws {
        try await begin()
        store.unanswered.value = count
        let joined = Shared<Intake.Ticket?>(nil)
        store.steps.change { [intake, events = [event(2), event(3)]] steps in
            steps.append { joined.value = intake.enter(events[0]) }
            steps.append { intake.note(events[1]) }
        }
        let first = intake.enter(event(1))
        await #expect(throws: ExperimentationError.self) { try await intake.outcome(of: first) }
        let second = try #require(joined.value)
        await #expect(throws: ExperimentationError.self) { try await intake.outcome(of: second) }
    }

    @Test("no transaction has more events than the limit")
    func most() async throws {
        try await begin()
        store.steps.change { [self] steps in
            steps.append { for number in 1...Intake.mostAtOnce { intake.note(event(number)) } }
        }
        try await intake.outcome(of: intake.enter(event(0)))
        try await intake.untilStored()
        #expect(store.stored.value.map(\.count) == [Intake.mostAtOnce, 1])
    }
}
