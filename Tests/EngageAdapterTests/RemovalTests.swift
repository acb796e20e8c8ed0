import Experimentation
import ExperimentationTesting
import Foundation
import Testing
import Waiting

@testable import EngageAdapter

@Suite("The removal of a user in the middle of something")
struct RemovalTests {
    let bench = EngageWorkbench()

    /// Removes one user, or all of them.
    private func remove(_ user: String?, from engage: Engage) async throws {
        if let user { try await engage.profile.forget(user) } else { try await engage.profile.clear() }
    }

    /// How many steps of a linking are taken before the removal; after all of them, only the audit table lacks a row.
    private static let steps = 1...4

    @Test(
        "between two steps ends their linking: nothing comes back, and the vendor gets no further request",
        arguments: steps,
        ["anon", "ben", nil]
    )
    func linking(after steps: Int, removed user: String?) async throws {
        for own in ["anon", "ben", "somebody else"] {
            let bench = EngageWorkbench()
            let engage = bench.engage { $0.recipients.audit = .init(tableID: "29392") }
            _ = try await bench.addRecipient(["Mobile User Id": "ben"])
            try await engage.profile.storeMobileUserID(own)
            var progress = LinkProgress(from: Identity(id: "anon"), to: Identity(id: "ben"))
            for _ in 0..<steps { progress = try await engage.linker.advance(progress) }
            #expect(!progress.isComplete)
            try await remove(user, from: engage)
            let (last, left, operations) = (progress, engage.profile.record, bench.operations)
            let error = await #expect(throws: ExperimentationError.self) { try await engage.linker.advance(last) }
            #expect(error == EngageErrors.forgotten)
            #expect(engage.profile.record == left)
            #expect(bench.operations == operations)
        }
    }

    @Test("ends their linking even if it is about to repeat a step that the vendor refused")
    func refusedStep() async throws {
        let engage = bench.engage()
        _ = try await bench.addRecipient(["facebook_id": "100"])
        await bench.control("POST", "/faults", #"[{"operation":"UpdateRecipient","code":326,"after":1}]"#)
        var progress = LinkProgress(
            from: Identity(id: "anon"),
            to: Identity(id: "ben"),
            criteria: ["facebook_id": "100"]
        )
        for _ in 0..<5 { progress = try await engage.linker.advance(progress) }
        let intent = try JSONDecoder().decode(MergeIntent.self, from: Data(progress.notes))
        #expect(intent.step == .releaseCurrent && intent.refusals == 1)
        try await engage.profile.forget("anon")
        let (last, operations) = (progress, bench.operations)
        let error = await #expect(throws: ExperimentationError.self) { try await engage.linker.advance(last) }
        #expect(error == EngageErrors.forgotten)
        #expect(bench.operations == operations)
    }

    @Test("ends their linking even if it goes on after a restart, and waits for its turn", arguments: ["anon", "ben"])
    func waitingStep(user: String) async throws {
        let progress = try await bench.engage().linker.advance(
            LinkProgress(from: Identity(id: "anon"), to: Identity(id: "ben"))
        )
        let engage = bench.engage()
        try await engage.linker.turn.take()
        let step = Task { try await engage.linker.advance(progress) }
        try await eventually("the step in line") { engage.linker.turn.waiting == 1 }
        try await engage.profile.forget(user)
        engage.linker.turn.leave()
        let error = await #expect(throws: ExperimentationError.self) { try await step.value }
        #expect(error == EngageErrors.forgotten)
        #expect(bench.operations == [])
    }

    @Test("ends their linking as soon as a search has found their recipient")
    func found() async throws {
        let engage = bench.engage()
        _ = try await bench.addRecipient(["facebook_id": "100", "Mobile User Id": "ben"])
        let (from, to) = (Identity(id: "anon"), Identity(id: "to"))
        var progress = LinkProgress(from: from, to: to, criteria: ["facebook_id": "100"])
        for _ in 1...3 { progress = try await engage.linker.advance(progress) }
        try await engage.profile.forget("ben")
        let (last, operations) = (progress, bench.operations)
        let error = await #expect(throws: ExperimentationError.self) { try await engage.linker.advance(last) }
        #expect(error == EngageErrors.forgotten)
        #expect(bench.operations == operations)
    }

    @Test("ends their merge without a trace, even if its stored state didn't name them yet")
    func unnamed() async throws {
        let engage = bench.engage()
        try await engage.mobileIdentity.setupRecipient()
        _ = try await bench.addRecipient(["facebook_id": "100", "Mobile User Id": "ben"])
        bench.hold("UpdateRecipient")
        let check = Task { try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"]) }
        try await bench.isHolding()
        // What `forget` does if the answer to the search isn't stored yet.
        engage.profile.watches.note(.removed, of: [ExactText("ben")])
        bench.letGo()
        let error = await #expect(throws: ExperimentationError.self) { try await check.value }
        #expect(error == EngageErrors.forgotten)
        #expect(engage.profile.record.merge == nil)
    }

    @Test("ends a merge that is still being stored: the vendor isn't asked about them")
    func stored() async throws {
        let store = GatedStateStore()
        func engage(_ state: any StateStore) -> Engage {
            let context = ProviderContext(environment: bench.environment, state: state)
            return Engage(EngageWorkbench.configuration(), transport: bench.transport, in: context)
        }
        let user = try await engage(store.baseState).mobileIdentity.setupRecipient().mobileUserID
        let engage = engage(store)
        let operations = bench.operations
        let check = Task { try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"]) }
        try await eventually("the merge on its way to the store") { store.gate.waiting == 1 }
        let removal = Task { try await engage.profile.forget(user) }
        try await eventually("the removal") { engage.profile.mobileUserID.isEmpty }
        store.gate.open()
        let error = await #expect(throws: ExperimentationError.self) { try await check.value }
        #expect(error == EngageErrors.forgotten)
        try await removal.value
        #expect(bench.operations == operations)
    }

    @Test("between two steps of others' linking doesn't affect it", arguments: steps)
    func others(after steps: Int) async throws {
        let engage = bench.engage { $0.recipients.audit = .init(tableID: "29392") }
        _ = try await bench.addRecipient(["Mobile User Id": "ben"])
        var progress = LinkProgress(from: Identity(id: "anon"), to: Identity(id: "ben"))
        for _ in 0..<steps { progress = try await engage.linker.advance(progress) }
        try await engage.profile.forget("cleo")
        progress = try await engage.linker.advance(progress)
        #expect(progress.isComplete == (steps == Self.steps.upperBound))
    }

    @Test("doesn't end a merge in progress if the user has no id")
    func withoutID() async throws {
        let engage = bench.engage()
        try await engage.mobileIdentity.setupRecipient()
        bench.hold("UpdateRecipient")
        let check = Task { try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"]) }
        try await bench.isHolding()
        try await engage.profile.forget("")
        bench.letGo()
        #expect(try await check.value.recipientID == "100000")
    }

    @Test("ends an interrupted merge that searches for them", arguments: ["ben", "anon", "cleo"])
    func searched(user: String) {
        var record = EngageRecord()
        record.merge = MergeIntent(id: "m", fields: ["Mobile User Id": "ben"], mobileUserID: "anon")
        record.forget(user)
        #expect((record.merge == nil) == (user != "cleo"))
    }

    /// What a removal of all users leaves.
    private func emptied(isInstalled: Bool = false) -> EngageRecord {
        var record = EngageRecord()
        record.isInstalled = isInstalled
        record.clear(at: bench.time.now)
        return record
    }

    /// Removes all users whenever an event is accepted.
    private struct ClearingOutbox: OutboxStoreDecorator {
        let base: any OutboxStore
        let profile: EngageProfile

        func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
            let answers = try await base.append(events, now: now)
            try await profile.clear()
            return answers
        }
    }

    /// Returns a tracker whose user is removed while an event is being accepted.
    private func tracker(of engage: Engage) async throws -> BehaviorTracker {
        let outbox = ClearingOutbox(base: bench.store.outbox, profile: engage.profile)
        let client = try await bench.client(engage, store: ClientStore(outbox: outbox, state: bench.store.state))
        // A delivery would store a campaign on its own.
        await client.setConnectivity(.offline)
        return engage.tracker(for: client.session(for: User(id: "u")))
    }

    @Test("leaves no campaign of a notification that is accepted meanwhile")
    func notification() async throws {
        let engage = bench.engage()
        try await tracker(of: engage).handlePushReceived(["CurrentCampaign": "Spring"])
        #expect(engage.profile.record == emptied())
    }

    @Test("leaves no session that begins meanwhile")
    func session() async throws {
        let engage = bench.engage()
        try await engage.profile.update { $0.isInstalled = true }
        try await tracker(of: engage).launch()
        #expect(engage.profile.record == emptied(isInstalled: true))
    }

    @Test("leaves no campaign of an event that is delivered meanwhile")
    func delivery() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let session = client.session(for: User(id: try await engage.mobileIdentity.prepareRecipient()))
        try await session.track(.notificationOpened(NotificationContent(payload: ["CurrentCampaign": "Spring"])))
        bench.hold("AddRecipient")
        let flush = Task { try await client.flush() }
        try await bench.isHolding()
        try await engage.profile.clear()
        bench.letGo()
        _ = try await flush.value
        #expect(try await bench.behaviors().map(\.code) == ["49"])
        #expect(engage.profile.record == emptied())
    }

    @Test("leaves no anonymous recipient that is being added, not even without a mobile user id")
    func anonymous() async throws {
        let engage = bench.engage()
        bench.hold("AddRecipient")
        let creation = Task { try await engage.anonymousUser.create(list: "23949") }
        try await bench.isHolding()
        try await engage.profile.clear()
        bench.letGo()
        let error = await #expect(throws: ExperimentationError.self) { try await creation.value }
        #expect(error == EngageErrors.forgotten)
        #expect(engage.profile.record == emptied())
    }

    @Test("is no change of the mobile user id: an anonymous recipient that is being added stays")
    func changedID() async throws {
        let engage = bench.engage()
        try await engage.mobileIdentity.prepareRecipient()
        bench.hold("AddRecipient")
        let creation = Task { try await engage.anonymousUser.create(list: "23949") }
        try await bench.isHolding()
        try await engage.profile.storeMobileUserID("own")
        bench.letGo()
        #expect(try await creation.value.recipientID == "100000")
        #expect(engage.profile.anonymousID == "100000")
    }

    @Test("is no change of the mobile user id: the other one gets a recipient, too")
    func changedIDDuringSetup() async throws {
        let engage = bench.engage()
        bench.hold("AddRecipient")
        let setup = Task { try await engage.mobileIdentity.setupRecipient() }
        try await bench.isHolding()
        try await engage.profile.storeMobileUserID("own")
        bench.letGo()
        #expect(try await setup.value == .init(recipientID: "100001", mobileUserID: "own"))
        #expect(engage.profile.recipientID == "100001")
    }
}
