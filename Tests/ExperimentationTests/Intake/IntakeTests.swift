import ExperimentationTesting
import Foundation
import Synchronization
import Testing
import Waiting

@testable import Experimentation

@Suite("The line into the store")
struct IntakeTests {
    /// A state store in which a write waits.
    private final class SlowNotes: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let door = Door()

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            await door.pass()
            try await baseState.setValue(value, for: key)
        }
    }

    private static let destination = Destination(provider: "scripted", account: "a")

    private func event(_ number: Int) -> Intake.Statement {
        let envelope = Envelope(
            id: "\(number)",
            identity: Identity(id: "ada"),
            event: .numbered(number),
            date: .distantPast
        )
        return .event(NewEvent(envelope, owedTo: [.init(to: Self.destination, isHeld: false)]))
    }

    @Test("a caller that arrives while the line is emptied after a failure is answered, however much waits")
    func crowded() async throws {
        let store = TroubledStore(.init(slowAppend: 1, failingAppend: 2, failsDenials: true))
        let notes = SlowNotes()
        let environment = ClientEnvironment(time: ManualTime())
        let kept = KeptState(store: notes, of: Self.destination, log: environment.log)
        let owed = OwedDenials(store: store, kept: kept, log: environment.log)
        let intake = Intake(store: store, owed: owed, environment: environment) { _ in }

        intake.note(event(0))
        await store.appendDoor.untilReached()
        let lost = Shared(0)
        for number in 1...Intake.mostNoted + 1 {
            intake.note(event(number)) { if case .failure = $0 { lost.change { $0 += 1 } } }
        }
        intake.note(.consent(ConsentChange(userID: "bob", isGranted: false)))
        store.appendDoor.open()
        // Bob's denial is owed, and noting that takes a while.
        await notes.door.untilReached()
        let caller = Task { try await intake.untilStored() }
        try await eventually("the caller waits") { intake.state.withLock { !$0.line.isEmpty } }
        notes.door.open()
        try await caller.value
        #expect(lost.value == 1)
        #expect(try await store.ledger(of: Self.destination).accepted == Intake.mostNoted + 1)
    }

    @Test("a noted statement is tried again with the next one, not while nothing happens")
    func calm() async throws {
        let store = FailingStore(failing: 0..<2, of: [.append])
        let environment = ClientEnvironment(time: ManualTime())
        let kept = KeptState(store: store, of: Self.destination, log: environment.log)
        let owed = OwedDenials(store: store, kept: kept, log: environment.log)
        let intake = Intake(store: store, owed: owed, environment: environment) { _ in }
        intake.note(event(1))
        try await eventually("the store has failed") { intake.state.withLock { !$0.isCarried && $0.line.count == 1 } }
        #expect(store.operations == 1)
        await #expect(throws: ExperimentationError.self) { try await intake.untilStored() }
        #expect(store.operations == 2)
        try await intake.untilStored()
        #expect(try await store.ledger(of: Self.destination).accepted == 1)
    }

    @Test("a noted event is accepted once, even if the consent stated by a refused one can't be stored")
    func grantOfRefused() async throws {
        let store = FailingStore(failing: 0..<1, of: [.setConsent])
        let environment = ClientEnvironment(time: ManualTime())
        let kept = KeptState(store: store, of: Self.destination, log: environment.log)
        let owed = OwedDenials(store: store, kept: kept, log: environment.log)
        try await owed.carryOut()
        let intake = Intake(store: store, owed: owed, environment: environment) { _ in }
        let envelope = Envelope(
            id: "large",
            identity: Identity(id: "bob"),
            event: .custom("large", attributes: ["text": .string(String(repeating: "x", count: 40_000))]),
            date: .distantPast
        )
        // Nothing is stored before both are in line.
        let ticket = intake.enter(.event(NewEvent(envelope, to: Self.destination, grantsConsent: true)))
        let outcome = Shared<ErrorCode?>(.general)
        intake.note(event(1)) { result in
            if case .failure(let error) = result { outcome.value = error.code } else { outcome.value = nil }
        }
        let error = await #expect(throws: ExperimentationError.self) { try await intake.outcome(of: ticket) }
        #expect(error?.code == .store)
        try await intake.untilStored()
        #expect(outcome.value == nil)
        #expect(try await store.ledger(of: Self.destination) == Ledger(accepted: 1, pending: 1))
    }

    @Test("what a user does after consenting with an event that is too large is stored in order")
    func orderBehindRefused() async throws {
        let store = InMemoryOutboxStore(maximumEventBytes: 2_000)
        let environment = ClientEnvironment(time: ManualTime())
        let kept = KeptState(store: InMemoryStateStore(), of: Self.destination, log: environment.log)
        let owed = OwedDenials(store: store, kept: kept, log: environment.log)
        try await owed.carryOut()
        let intake = Intake(store: store, owed: owed, environment: environment) { _ in }
        _ = try await store.setConsent([ConsentChange(userID: "ada", isGranted: false)])
        func consenting(_ id: String, _ text: String) -> Intake.Statement {
            let event = TrackingEvent.custom("said", attributes: ["text": .string(text)])
            let envelope = Envelope(id: id, identity: Identity(id: "ada"), event: event, date: .distantPast)
            return .event(NewEvent(envelope, to: Self.destination, grantsConsent: true))
        }
        // All are in line before the first is stored.
        let large = intake.enter(consenting("large", String(repeating: "x", count: 3_000)))
        let others = [event(1), consenting("2", "x"), event(3)].map { intake.enter($0) }
        let error = await #expect(throws: ExperimentationError.self) { try await intake.outcome(of: large) }
        #expect(error?.code == .tooLarge)
        for ticket in others { try await intake.outcome(of: ticket) }
        #expect(try await store.waiting().map(\.envelope.id) == ["1", "2", "3"])
    }

    @Test("the consent stated by a refused event releases what is held, even if a denial was owed")
    func releasedByRefused() async throws {
        let store = InMemoryOutboxStore()
        let environment = ClientEnvironment(time: ManualTime())
        let kept = KeptState(store: InMemoryStateStore(), of: Self.destination, log: environment.log)
        let owed = OwedDenials(store: store, kept: kept, log: environment.log)
        let released = Shared(0)
        let intake = Intake(store: store, owed: owed, environment: environment) { events in
            if events.isEmpty { released.change { $0 += 1 } }
        }
        func event(_ text: String, isHeld: Bool) -> NewEvent {
            let event = TrackingEvent.custom("said", attributes: ["text": .string(text)])
            let envelope = Envelope(id: text, identity: Identity(id: "ada"), event: event, date: .distantPast)
            return NewEvent(envelope, owedTo: [.init(to: Self.destination, isHeld: isHeld)])
        }
        _ = try await store.append([event("held", isHeld: true)], now: .distantPast)
        await owed.owe(["ada"])
        var large = event(String(repeating: "x", count: 40_000), isHeld: false)
        large.grantsConsent = true
        let ticket = intake.enter(.event(large))
        let error = await #expect(throws: ExperimentationError.self) { try await intake.outcome(of: ticket) }
        #expect(error?.code == .tooLarge)
        #expect(released.value == 1)
        #expect(owed.users.isEmpty)
    }

    @Test(
        "if the note of an owed denial can't be removed, its user's consent fails, but no other statement",
        arguments: zip([true, false], [ErrorCode.store, nil])
    )
    func stubbornNote(isGranted: Bool, code: ErrorCode?) async throws {
        let (store, state) = (InMemoryOutboxStore(), FailingStore(failing: 0..<100, of: [.removeAll]))
        let environment = ClientEnvironment(time: ManualTime())
        let kept = KeptState(store: state, of: Self.destination, log: environment.log)
        let owed = OwedDenials(store: store, kept: kept, log: environment.log)
        try await owed.carryOut()
        await owed.owe(["bob"])
        let intake = Intake(store: store, owed: owed, environment: environment) { _ in }
        let changes = [("bob", isGranted), ("cyd", true)].map { ConsentChange(userID: $0, isGranted: $1) }
        // All are in line before the first is stored.
        let tickets = (changes.map(Intake.Statement.consent) + [event(1)]).map { intake.enter($0) }
        var codes: [ErrorCode?] = []
        for ticket in tickets {
            do throws(ExperimentationError) {
                try await intake.outcome(of: ticket)
                codes.append(nil)
            } catch {
                codes.append(error.code)
            }
        }
        #expect(codes == [code, nil, nil])
        #expect(owed.users.map(\.text) == ["bob"])
    }

    @Test(
        "after a failure that may hide a release, the destinations look for released events",
        arguments: [true, false]
    )
    func hiddenRelease(isWithRefusedEvent: Bool) async throws {
        let store = FailingStore(failing: 0..<1, of: [.setConsent], .after)
        let environment = ClientEnvironment(time: ManualTime())
        let kept = KeptState(store: InMemoryStateStore(), of: Self.destination, log: environment.log)
        let owed = OwedDenials(store: store, kept: kept, log: environment.log)
        let looks = Shared(0)
        let intake = Intake(store: store, owed: owed, environment: environment) { events in
            if events.isEmpty { looks.change { $0 += 1 } }
        }
        let envelope = Envelope(
            id: "large",
            identity: Identity(id: "ada"),
            event: .custom("large", attributes: ["text": .string(String(repeating: "x", count: 40_000))]),
            date: .distantPast
        )
        let ticket = intake.enter(
            isWithRefusedEvent
                ? .event(NewEvent(envelope, to: Self.destination, grantsConsent: true))
                : .consent(ConsentChange(userID: "ada", isGranted: true))
        )
        let error = await #expect(throws: ExperimentationError.self) { try await intake.outcome(of: ticket) }
        #expect(error?.code == .store)
        #expect(looks.value == 1)
    }

    @Test("a noted event that was refused isn't stored later, even if the store failed for others with it")
    func refusedBesideFailure() async throws {
        let (store, state) = (
            FailingStore(failing: 0..<1, of: [.append]), FailingStore(failing: 0..<1, of: [.removeAll])
        )
        let environment = ClientEnvironment(time: ManualTime())
        let kept = KeptState(store: state, of: Self.destination, log: environment.log)
        let owed = OwedDenials(store: store, kept: kept, log: environment.log)
        try await owed.carryOut()
        await owed.owe(["bob"])
        let intake = Intake(store: store, owed: owed, environment: environment) { _ in }
        let envelope = Envelope(id: "bob's", identity: Identity(id: "bob"), event: .numbered(0), date: .distantPast)
        let codes = Shared<[ErrorCode?]>([])
        // All are in line before the first is stored.
        let mark = intake.enter(.mark)
        intake.note(.event(NewEvent(envelope, to: Self.destination, grantsConsent: true))) { outcome in
            codes.change { if case .failure(let error) = outcome { $0.append(error.code) } else { $0.append(nil) } }
        }
        intake.note(event(1))
        try await intake.outcome(of: mark)
        try await intake.untilStored()
        #expect(codes.value == [.store])
        #expect(try await store.ledger(of: Self.destination).accepted == 1)
    }

    @Test(
        "statements that wait for a store that failed are tried once more at the end, and answered",
        arguments: [1, 2]
    )
    func closed(failures: Int) async throws {
        let store = FailingStore(failing: 0..<failures, of: [.append])
        let environment = ClientEnvironment(time: ManualTime())
        let kept = KeptState(store: store, of: Self.destination, log: environment.log)
        let owed = OwedDenials(store: store, kept: kept, log: environment.log)
        let intake = Intake(store: store, owed: owed, environment: environment) { _ in }
        let isStored = Shared<Bool?>(nil)
        intake.note(event(1)) { outcome in isStored.value = (try? outcome.get()) != nil }
        try await eventually("the store has failed") { intake.state.withLock { !$0.isCarried && $0.line.count == 1 } }
        intake.close()
        try await eventually("it is answered") { isStored.value != nil }
        #expect(isStored.value == (failures == 1))
        #expect(store.operations == 2)
        #expect(intake.state.withLock { $0.line.isEmpty && !$0.isCarried })
    }

    @Test("a noted grant becomes part of the user's next event, but not behind a mark")
    func joined() {
        let grant = Intake.Statement.consent(ConsentChange(userID: "ada", isGranted: true))
        func kinds(_ statements: Intake.Statement...) -> [Intake.Statement.Kind] {
            let entries = statements.map { Intake.Entry(statement: $0, isNoted: true, answer: Answer()) }
            return Intake.joined(entries).map(\.statement.kind)
        }
        #expect(kinds(grant, event(1)) == [.event])
        #expect(kinds(grant, .mark, event(1)) == [.consent, .mark, .event])
        #expect(kinds(.mark, grant, event(1), .mark) == [.mark, .event, .mark])
    }
}
