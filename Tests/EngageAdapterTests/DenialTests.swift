import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import EngageAdapter

@Suite("Stored state of a user who denies consent")
struct DenialTests {
    let bench = EngageWorkbench()

    private func filled(_ change: (inout EngageConfiguration) -> Void = { _ in }) async throws -> (Engage, String) {
        let engage = bench.engage(change)
        try await engage.begin()
        let setup = try await engage.mobileIdentity.setupRecipient()
        try await engage.profile.update { record in
            record.isInstalled = true
            record.hasLocationColumns = true
            record.anonymousID = "A-1"
            record.deviceID = "D-1"
            record.campaigns.put(.init(name: "Spring", from: .distantPast, until: .distantFuture))
            record.others = ["ada": "7", "bob": "8"]
        }
        return (engage, setup.mobileUserID)
    }

    @Test("of the installation's own user, only the facts of installation and denial are kept, across restarts too")
    func own() async throws {
        let (engage, id) = try await filled()
        let client = try await bench.client(engage)
        try await client.session(for: User(id: id)).setConsent(.denied)
        #expect(isRest(engage.profile.record))
        let next = bench.engage()
        try await next.begin()
        #expect(isRest(next.profile.record))
    }

    /// Whether a record is what remains of ``filled(_:)`` without its own user.
    private func isRest(_ record: EngageRecord) -> Bool {
        var rest = EngageRecord()
        rest.isInstalled = true
        rest.hasLocationColumns = true
        rest.others = ["ada": "7", "bob": "8"]
        return isOnlyDenied(record, besides: rest)
    }

    /// Whether a record contains nothing but a denial, besides the given rest.
    private func isOnlyDenied(_ record: EngageRecord, besides rest: EngageRecord = EngageRecord()) -> Bool {
        var rest = rest
        rest.awaited = record.denials.last
        rest.denials = record.denials
        return record == rest && record.denials.count == 1
    }

    @Test("a denial while the user's recipient is being added leaves nothing to the next user")
    func whileAdding() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let id = try await engage.mobileIdentity.prepareRecipient()
        bench.hold("AddRecipient")
        let setup = Task { try await engage.mobileIdentity.setupRecipient() }
        try await bench.isHolding()
        try await client.session(for: User(id: id)).setConsent(.denied)
        bench.letGo()
        let error = await #expect(throws: ExperimentationError.self) { try await setup.value }
        #expect(error == EngageErrors.forgotten)
        #expect(isOnlyDenied(engage.profile.record))
        try await engage.profile.grantConsent()
        let next = try await engage.mobileIdentity.prepareRecipient()
        #expect(next != id)
        #expect(
            try await engage.mobileIdentity.setupRecipient() == .init(recipientID: "100001", mobileUserID: next)
        )
    }

    @Test("a denial while the anonymous recipient is being added leaves nothing to the next user")
    func whileAddingAnonymous() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let id = try await engage.mobileIdentity.prepareRecipient()
        bench.hold("AddRecipient")
        let creation = Task { try await engage.anonymousUser.create(list: "23949") }
        try await bench.isHolding()
        try await client.session(for: User(id: id)).setConsent(.denied)
        bench.letGo()
        let error = await #expect(throws: ExperimentationError.self) { try await creation.value }
        #expect(error == EngageErrors.forgotten)
        #expect(isOnlyDenied(engage.profile.record))
    }

    @Test(
        "a denial during a check of the identity leaves neither its merge nor its values, across restarts too",
        arguments: [("SelectRecipientData", 0), ("UpdateRecipient", 0), ("UpdateRecipient", 1)]
    )
    func whileChecking(operation: String, after: Int) async throws {
        let (engage, id) = try await filled()
        _ = try await bench.addRecipient(["facebook_id": "100"])
        let client = try await bench.client(engage)
        bench.hold(operation)
        let check = Task { try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"]) }
        for _ in 0..<after {
            try await bench.isHolding()
            bench.letOneGo()
        }
        try await bench.isHolding()
        try await client.session(for: User(id: id)).setConsent(.denied)
        bench.letGo()
        let error = await #expect(throws: ExperimentationError.self) { try await check.value }
        #expect(error == EngageErrors.forgotten)
        #expect(isRest(engage.profile.record))
        let next = bench.engage()
        try await next.begin()
        #expect(isRest(next.profile.record))
    }

    @Test(
        "after a denial, an identity isn't checked for the session: the vendor gets no request",
        arguments: [true, false]
    )
    func checkAfterDenial(isOwn: Bool) async throws {
        let (engage, id) = try await filled()
        let client = try await bench.client(engage)
        let session = client.session(for: User(id: isOwn ? id : "another"))
        try await session.setConsent(.denied)
        let operations = bench.operations
        let error = await #expect(throws: ExperimentationError.self) {
            try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"], for: session)
        }
        #expect(error?.code == .consentDenied)
        #expect(bench.operations == operations)
    }

    @Test(
        "a denial during a linking leaves neither the user's recipient nor the notes",
        arguments: ["AddRecipient", "UpdateRecipient"]
    )
    func whileLinking(operation: String) async throws {
        let engage = bench.engage()
        _ = try await bench.addRecipient(["facebook_id": "100"])
        let session = try await bench.client(engage).session(for: User(id: "anon"))
        bench.hold(operation)
        let link = Task { try await session.link(to: Identity(id: "anon"), criteria: ["facebook_id": "100"]) }
        try await bench.isHolding()
        try await session.setConsent(.denied)
        bench.letGo()
        let error = await #expect(throws: ExperimentationError.self) { try await link.value }
        #expect(error == EngageErrors.forgotten)
        #expect(engage.profile.record == EngageRecord())
        #expect(try await bench.store.state.keys(beginningWith: "").filter { $0.contains("/link/") } == [])
    }

    @Test("under the id of a merge, the row owed for it and the former id are forgotten as well")
    func merged() async throws {
        let (engage, id) = try await filled { $0.recipients.audit = .init(tableID: "29392") }
        let client = try await bench.client(engage)
        _ = try await bench.addRecipient(["facebook_id": "100", "Mobile User Id": "EM"])
        await bench.fault(50, on: "InsertUpdateRelationalTable")
        try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        #expect(engage.profile.mobileUserID == "EM")
        #expect(engage.profile.record.audits.map(\.mobileUserID) == [id])
        try await client.session(for: User(id: "EM")).setConsent(.denied)
        #expect(isRest(engage.profile.record))
    }

    @Test(
        "the ids and recipients from before several merges are forgotten, and no other user's",
        arguments: [true, false]
    )
    func mergedTwice(isLastRowOwed: Bool) {
        func row(_ mobileUserID: String, from old: String, to new: String) -> OwedAudit {
            OwedAudit(
                key: mobileUserID,
                oldRecipient: old,
                newRecipient: new,
                moment: .distantPast,
                mobileUserID: mobileUserID
            )
        }
        var record = EngageRecord()
        record.mobileUserID = "C"
        record.recipientID = "3"
        record.others = ["A": "1", "B": "2", "ada": "7"]
        record.audits = [row("A", from: "1", to: "2"), row("ada", from: "7", to: "8")]
        if isLastRowOwed {
            record.audits.append(row("B", from: "2", to: "3"))
        } else {
            var merge = MergeIntent(id: "m", fields: ["facebook_id": "100"], mobileUserID: "B")
            merge.current = "2"
            merge.existing = "3"
            merge.existingMobileUserID = "C"
            merge.scenario = .claimed
            merge.step = .audit
            record.merge = merge
        }
        record.forget("C")
        var expected = EngageRecord()
        expected.others = ["ada": "7"]
        expected.audits = [row("ada", from: "7", to: "8")]
        #expect(record == expected)
    }

    @Test("a merge into another user ends with that user's denial, and the installation's own user stays")
    func mergeInto() {
        var record = EngageRecord()
        record.mobileUserID = "A"
        record.recipientID = "1"
        let expected = record
        var merge = MergeIntent(id: "m", fields: ["facebook_id": "100"], mobileUserID: "A")
        merge.current = "1"
        merge.existing = "2"
        merge.existingMobileUserID = "B"
        merge.scenario = .claimed
        merge.step = .releaseCurrent
        record.merge = merge
        record.others = ["B": "2"]
        record.forget("B")
        #expect(record == expected)
    }

    @Test("of another user, only the recipient is forgotten")
    func other() async throws {
        let (engage, _) = try await filled()
        var expected = engage.profile.record
        expected.others = ["bob": "8"]
        let client = try await bench.client(engage)
        try await client.session(for: User(id: "ada")).setConsent(.denied)
        #expect(engage.profile.record == expected)
    }

    @Test(
        "if a denial is an opt-out, the recipient is forgotten at once, and the vendor still gets it",
        arguments: [true, false]
    )
    func optOut(afterRestart: Bool) async throws {
        let (engage, id) = try await filled { $0.recipients.optsOutOnDenial = true }
        let recipient = engage.profile.recipientID
        var client = try await bench.client(engage)
        await client.setConnectivity(.offline)
        try await client.session(for: User(id: id)).setConsent(.denied)
        #expect(engage.profile.mobileUserID.isEmpty && engage.profile.recipientID.isEmpty)
        var now = engage
        if afterRestart {
            await client.shutdown(within: .zero)
            now = bench.engage { $0.recipients.optsOutOnDenial = true }
            client = try await bench.client(now)
        }
        await client.setConnectivity(.online)
        try await client.flush()
        #expect(try await bench.recipients().filter(\.optedOut).map { String($0.id) } == [recipient])
        let written = String(
            decoding: try #require(try await bench.store.state.value(for: profileKey())),
            as: UTF8.self
        )
        #expect(!written.contains(recipient) && now.profile.record.others == ["ada": "7", "bob": "8"])
    }

    private func profileKey() async throws -> String {
        try #require(try await bench.store.state.keys(beginningWith: "").first { $0.hasSuffix("profile") })
    }
}
