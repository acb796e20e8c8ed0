import ExperimentationTesting
import Foundation
import Testing
import Waiting

@testable import Experimentation

@Suite("Owed denials and their notes")
struct DenialNoteTests {
    private let outbox = TroubledStore(.init(failsDenials: true))
    private let state = InMemoryStateStore()

    @Test("owed denials are carried out in one transaction")
    func together() async throws {
        let owed = OwedDenials(
            store: outbox,
            kept: KeptState(store: state, of: Destination(provider: "scripted", scope: ""), log: NoLog()),
            log: NoLog()
        )
        await owed.owe(["ada", "bob", "cyd"])
        outbox.mendDenials()
        try await owed.carryOut()
        #expect(outbox.counts[.setConsent] == 1)
        #expect(owed.users.isEmpty)
        #expect(try await state.keys(beginningWith: "").isEmpty)
    }

    @Test("a denial whose events are removed isn't repeated in the store while other data of its user remains")
    func halfDone() async throws {
        outbox.mendDenials()
        let state = FailingStore(failing: 0..<1, of: [.removeAll])
        let owed = OwedDenials(
            store: outbox,
            kept: KeptState(store: state, of: Destination(provider: "scripted", scope: ""), log: NoLog()),
            log: NoLog()
        )
        await owed.owe(["ada"])
        for left in [["ada"], []] {
            try await owed.carryOut()
            #expect(owed.users.map(\.text) == left)
            #expect(outbox.counts[.setConsent] == 1)
        }
        // Another denial is carried out as a whole.
        await owed.owe(["ada"])
        try await owed.carryOut()
        #expect(outbox.counts[.setConsent] == 2)
    }

    @Test("a denial isn't owed once its user has consented again, at whatever moment that happens")
    func overruled() async throws {
        let environment = ClientEnvironment(time: ManualTime(), log: NoLog())
        let kept = KeptState(store: state, of: Destination(provider: "scripted", scope: ""), log: environment.log)
        let store = InMemoryOutboxStore()
        let owed = OwedDenials(store: store, kept: kept, log: environment.log)
        try await owed.carryOut()
        let intake = Intake(store: store, owed: owed, environment: environment) { _ in }
        for _ in 0..<200 {
            let denial = intake.enter(.consent(ConsentChange(userID: "ada", isGranted: false)))
            try await intake.outcome(of: denial)
            async let owing: Void = owed.owe(["ada"], unless: { denial.denial?.isLastWord == false })
            let grant = intake.enter(.consent(ConsentChange(userID: "ada", isGranted: true)))
            try await intake.outcome(of: grant)
            await owing
            #expect(owed.users.isEmpty)
            #expect(try await state.keys(beginningWith: "").isEmpty)
        }
        await owed.owe(["ada"], unless: { true })
        #expect(owed.users.isEmpty)
    }

    @Test("the notes of several denials are written together, after callers with events are answered")
    func notedTogether() async throws {
        let outbox = TroubledStore(.init(slowAppend: 1, failsDenials: true))
        let slow = SlowState()
        let destination = Destination(provider: "scripted", scope: "")
        let environment = ClientEnvironment(time: ManualTime(), log: NoLog())
        let kept = KeptState(store: slow, of: destination, log: environment.log)
        let owed = OwedDenials(store: outbox, kept: kept, log: environment.log)
        let intake = Intake(store: outbox, owed: owed, environment: environment) { _ in }
        func event(_ number: Int) -> Intake.Statement {
            let (identity, event) = (Identity(id: "dan"), TrackingEvent.numbered(number))
            let envelope = Envelope(id: "\(number)", identity: identity, event: event, date: .distantPast)
            return .event(NewEvent(envelope, owedTo: [.init(to: destination, isHeld: false)]))
        }
        intake.note(event(0))
        await outbox.appendDoor.untilReached()
        let denials = ["ada", "bob", "cyd"].map { user in
            intake.enter(.consent(ConsentChange(userID: user, isGranted: false)))
        }
        let late = intake.enter(event(1))
        outbox.appendDoor.open()
        await #expect(throws: ExperimentationError.self) { try await intake.outcome(of: late) }
        try await eventually("three notes are being written") { slow.count.value == 3 }
        slow.mayWrite.open()
        for denial in denials {
            await #expect(throws: ExperimentationError.self) { try await intake.outcome(of: denial) }
        }
        #expect(owed.users.count == 3)
    }

    /// A store with slow writes.
    private struct SlowState: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let reached = AsyncGate()
        let mayWrite = AsyncGate()
        let count = Shared(0)

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            count.change { $0 += 1 }
            reached.open()
            await mayWrite.wait()
            try await baseState.setValue(value, for: key)
        }
    }

    @Test("a denial that is carried out while its note is still being written leaves no note")
    func noteAndRemoval() async throws {
        let slow = SlowState()
        let owed = OwedDenials(
            store: InMemoryOutboxStore(),
            kept: KeptState(store: slow, of: Destination(provider: "scripted", scope: ""), log: NoLog()),
            log: NoLog()
        )
        let owing = Task { await owed.owe(["ada"]) }
        await slow.reached.wait()
        let carrying = Task { try await owed.carryOut() }
        for _ in 0..<200 { await Task.yield() }
        slow.mayWrite.open()
        await owing.value
        try await carrying.value
        #expect(owed.users.isEmpty)
        #expect(try await slow.keys(beginningWith: "").isEmpty)
    }
}
