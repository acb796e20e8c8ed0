import Experimentation
import ExperimentationTesting
import Foundation
import Testing
import Waiting

@testable import EngageAdapter

@Suite("An installation that gets another mobile user id")
struct ChangedUserTests {
    private let bench = EngageWorkbench()

    private func posted(_ client: ExperimentationClient) async throws -> [[String?]] {
        try await client.flush()
        return try await bench.behaviors().map { [$0["Primary User Id"], $0["Recipient Id"], $0.contactID] }
    }

    @Test("sends the former recipient with the former user's events only, waiting ones included")
    func another() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        try await engage.profile.storeMobileUserID("ada")
        let recipient = try await engage.mobileIdentity.setupRecipient().recipientID
        await client.setConnectivity(.offline)
        try await client.session(for: User(id: "ada")).track(.custom("waits"))
        try await engage.profile.storeMobileUserID("ben")
        try await client.session(for: User(id: "ben")).track(.custom("A"))
        await client.setConnectivity(.online)
        #expect(try await posted(client) == [["ada", recipient, recipient], ["ben", "", nil]])
        #expect(engage.profile.recipientID == "")
    }

    @Test("gets a recipient of its own, and the former one keeps its id")
    func setUp() async throws {
        let engage = bench.engage()
        try await engage.profile.storeMobileUserID("ada")
        try await engage.mobileIdentity.setupRecipient()
        try await engage.profile.storeMobileUserID("ben")
        #expect(try await engage.mobileIdentity.setupRecipient() == .init(recipientID: "100001", mobileUserID: "ben"))
        #expect(try await bench.recipients().map { $0.values["Mobile User Id"] } == ["ada", "ben"])
    }

    @Test(
        "while the former one is being written to a known recipient leaves both with their own",
        arguments: [true, false]
    )
    func whileSettingUp(isKnown: Bool) async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        if isKnown {
            try await engage.profile.storeRecipientID(try await bench.addRecipient(["Email": "ann@example.test"]))
        }
        let id = try await engage.mobileIdentity.prepareRecipient()
        await client.setConnectivity(.offline)
        try await client.session(for: User(id: id)).track(.custom("waits"))
        let operation = isKnown ? "UpdateRecipient" : "AddRecipient"
        bench.hold(operation)
        let setup = Task { try await engage.mobileIdentity.setupRecipient() }
        try await bench.isHolding()
        try await engage.profile.storeMobileUserID("ben")
        bench.letGo()
        #expect(try await setup.value == .init(recipientID: "100001", mobileUserID: "ben"))
        #expect(try await bench.recipients().map { $0.values["Mobile User Id"] } == [id, "ben"])
        await client.setConnectivity(.online)
        #expect(try await posted(client) == [[id, "100000", "100000"]])
    }

    @Test("gets the other user's known recipient, and forgets the former user's anonymous id")
    func back() {
        var record = EngageRecord()
        record.become("ada")
        record.recipientID = "1"
        record.anonymousID = "9"
        record.become("ben")
        record.recipientID = "2"
        record.become("ada")
        #expect([record.recipientID, record.anonymousID] == ["1", ""])
        #expect(["ada", "ben"].map(record.recipient) == ["1", "2"])
    }

    @Test("gives its first user the recipient, anonymous id and campaign that it has already")
    func first() {
        var record = EngageRecord()
        record.recipientID = "1"
        record.anonymousID = "9"
        record.campaigns.put(.init(name: "Spring", from: .distantPast, until: .distantFuture))
        record.become("ada")
        #expect([record.recipientID, record.anonymousID] == ["1", "9"])
        #expect(record.campaigns(of: "ada").last(at: bench.time.now) == "Spring")
    }

    @Test("searches for the recipient of a user who returns if an answer about them was lost")
    func lostAnswer() async throws {
        let engage = bench.engage()
        try await engage.profile.storeMobileUserID("ada")
        bench.plan(.lostAfter, on: "AddRecipient")
        await #expect(throws: ExperimentationError.self) { try await engage.mobileIdentity.setupRecipient() }
        try await engage.profile.storeMobileUserID("ben")
        try await engage.mobileIdentity.setupRecipient()
        try await engage.profile.storeMobileUserID("ada")
        #expect(try await engage.mobileIdentity.setupRecipient().recipientID == "100000")
        #expect(try await bench.recipients().map { $0.values["Mobile User Id"] } == ["ada", "ben"])
    }

    @Test("drops a waiting check for its former user's fields", arguments: [true, false])
    func waitingCheck(isOfSession: Bool) async throws {
        let engage = bench.engage()
        let session = try await bench.client(engage).session(for: User(id: "ada", consent: .granted))
        try await engage.profile.storeMobileUserID("ada")
        bench.hold("AddRecipient")
        let first = Task { try await engage.mobileIdentity.setupRecipient() }
        try await bench.isHolding()
        let check = Task {
            isOfSession
                ? try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"], for: session)
                : try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        }
        try await eventually("a waiting check") { engage.mobileIdentity.turn.waiting == 1 }
        try await engage.profile.storeMobileUserID("ben")
        bench.letGo()
        _ = try await first.value
        let error = await #expect(throws: ExperimentationError.self) { try await check.value }
        #expect(error?.code == .invalidArgument)
        #expect(session.user.id == "ada")
        #expect(try await bench.recipients().map { $0.values["facebook_id"] } == [nil, nil])
    }

    @Test("drops a check for its former user's fields, even if that user's recipient was still being added")
    func checkWhileSettingUp() async throws {
        let engage = bench.engage()
        try await engage.profile.storeMobileUserID("ada")
        bench.hold("AddRecipient")
        let check = Task { try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"]) }
        try await bench.isHolding()
        try await engage.profile.storeMobileUserID("ben")
        bench.letGo()
        let error = await #expect(throws: ExperimentationError.self) { try await check.value }
        #expect(error?.code == .invalidArgument)
        #expect(engage.profile.record.merge == nil)
        #expect(try await bench.recipients().map { $0.values["facebook_id"] } == [nil, nil])
    }

    @Test("keeps no recipient of a former user who is removed before the vendor answers")
    func removedMeanwhile() async throws {
        let engage = bench.engage()
        let id = try await engage.mobileIdentity.prepareRecipient()
        bench.hold("AddRecipient")
        let setup = Task { try await engage.mobileIdentity.setupRecipient() }
        try await bench.isHolding()
        try await engage.profile.storeMobileUserID("ben")
        try await engage.profile.forget(id)
        bench.letGo()
        #expect(try await setup.value == .init(recipientID: "100001", mobileUserID: "ben"))
        #expect(engage.profile.record.recipient(of: id) == "")
    }

    @Test("sends nothing about a former user who is removed before the note about their recipient is stored")
    func removedWhileStoring() async throws {
        let store = GatedStateStore()
        func engage(_ state: any StateStore) -> Engage {
            let context = ProviderContext(environment: bench.environment, state: state)
            return Engage(EngageWorkbench.configuration(), transport: bench.transport, in: context)
        }
        try await engage(store.baseState).profile.update { record in
            record.mobileUserID = "ada"
            record.campaigns.put(.init(name: "Spring", from: .distantPast, until: .distantFuture, users: ["ada"]))
        }
        let engage = engage(store)
        let setup = Task { try await engage.mobileIdentity.setupRecipient() }
        try await eventually("the wish on its way to the store") { store.gate.waiting == 1 }
        let succession = Task { try await engage.profile.storeMobileUserID("ben") }
        try await eventually("the other user") { engage.profile.mobileUserID == "ben" }
        let removal = Task { try await engage.profile.forget("ada") }
        try await eventually("the removal") { engage.profile.record.campaigns.entries.isEmpty }
        store.gate.open()
        #expect(try await setup.value.mobileUserID == "ben")
        try await succession.value
        try await removal.value
        #expect(try await bench.recipients().map { $0.values["Mobile User Id"] } == ["ben"])
        #expect(engage.profile.record.recipient(of: "ada") == "")
    }
}
