import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import EngageAdapter

@Suite("A merge that the vendor rejects")
struct MergeFaultTests {
    let bench = EngageWorkbench()

    private func audited(_ configuration: inout EngageConfiguration) {
        configuration.recipients.audit = .init(tableID: "29392")
    }

    private func ready(_ change: (inout EngageConfiguration) -> Void = { _ in }) async throws -> Engage {
        let engage = bench.engage(change)
        try await engage.begin()
        return engage
    }

    private func interruption(
        _ engage: Engage,
        _ fields: [String: String]
    ) async -> MergeInterruption? {
        let error = await #expect(throws: ExperimentationError.self) {
            try await engage.mobileIdentity.checkIdentity(fields)
        }
        return error?.cause as? MergeInterruption
    }

    @Test("if its first write fails, nothing is resumed: the next check starts over", arguments: [326, 50, 161])
    func firstWrite(code: Int) async throws {
        let engage = try await ready()
        let setup = try await engage.mobileIdentity.setupRecipient()
        await bench.fault(code, on: "UpdateRecipient")
        let stopped = await interruption(engage, ["facebook_id": "100"])
        #expect(stopped?.step == "updateCurrent" && stopped?.isResumable == false)
        try await engage.mobileIdentity.checkIdentity(["twitter_id": "9"])
        let expected = ["Mobile User Id": setup.mobileUserID, "twitter_id": "9"]
        #expect(try await bench.recipient(setup.recipientID) == expected)
    }

    @Test(
        "a permanent fault halfway is retried once, then abandoned: the next check starts over",
        arguments: [true, false],
        [true, false]
    )
    func halfway(afterRestart: Bool, historyInList: Bool) async throws {
        var engage = try await ready { $0.recipients.historyInList = historyInList }
        let setup = try await engage.mobileIdentity.setupRecipient()
        let existing = try await bench.addRecipient(["facebook_id": "100"])
        await bench.control("POST", "/faults", #"[{"operation":"UpdateRecipient","code":326,"after":1,"times":2}]"#)
        let stopped = await interruption(engage, ["facebook_id": "100"])
        #expect(stopped?.step == "releaseCurrent" && stopped?.isResumable == true)
        if afterRestart {
            engage = bench.engage { $0.recipients.historyInList = historyInList }
            try await engage.profile.load()
        }
        let result = try await engage.mobileIdentity.checkIdentity(["twitter_id": "9"])
        #expect(result == .init(recipientID: setup.recipientID, mobileUserID: setup.mobileUserID))
        #expect(engage.profile.record.merge == nil)
        // Without the fault, repeating the check completes the merge.
        let healed = try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        #expect(
            healed
                == .init(
                    recipientID: existing,
                    mergedRecipientID: setup.recipientID,
                    mobileUserID: setup.mobileUserID
                )
        )
        let former = try await bench.recipient(setup.recipientID)
        #expect(former["Mobile User Id"] == "" && former["Merged Recipient Id"] == (historyInList ? existing : nil))
    }

    @Test("a temporary fault halfway is resumed before the next check")
    func serverError() async throws {
        let engage = try await ready()
        let setup = try await engage.mobileIdentity.setupRecipient()
        let existing = try await bench.addRecipient(["facebook_id": "100"])
        await bench.control("POST", "/faults", #"[{"operation":"UpdateRecipient","code":50,"after":1,"times":2}]"#)
        #expect(await interruption(engage, ["facebook_id": "100"])?.isResumable == true)
        #expect(await interruption(engage, ["twitter_id": "9"])?.isResumable == true)
        let result = try await engage.mobileIdentity.checkIdentity(["twitter_id": "9"])
        #expect(result == .init(recipientID: existing, mobileUserID: setup.mobileUserID))
        #expect(try await bench.recipient(existing)["twitter_id"] == "9")
    }

    @Test(
        "a fault of only its audit row leaves it done, and the row is written later, whatever is merged meanwhile",
        arguments: [true, false]
    )
    func auditRows(afterRestart: Bool) async throws {
        var engage = try await ready(audited)
        let setup = try await engage.mobileIdentity.setupRecipient()
        let first = try await bench.addRecipient(["facebook_id": "100"])
        let second = try await bench.addRecipient(["twitter_id": "9"])
        await bench.fault(50, on: "InsertUpdateRelationalTable", times: 3)
        let one = try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        #expect(one.recipientID == first && one.pendingAudit?.code == .vendorFault)
        let two = try await engage.mobileIdentity.checkIdentity(["twitter_id": "9"])
        #expect(two.recipientID == second && two.pendingAudit?.code == .vendorFault)
        #expect(try await bench.auditRows().isEmpty)
        await bench.control("POST", "/faults", "[]")
        if afterRestart {
            engage = try await ready(audited)
        }
        try await engage.mobileIdentity.resumePendingMerge()
        let rows = try await bench.auditRows().map { [$0["Old Recipient Id"], $0["New Recipient Id"]] }
        #expect(Set(rows) == [[setup.recipientID, first], [first, second]])
        bench.forgetExchanges()
        try await engage.mobileIdentity.resumePendingMerge()
        #expect(bench.operations.isEmpty)
    }

    @Test("events from before a merge still name their former recipient")
    func waitingEvents() async throws {
        let engage = try await ready()
        let setup = try await engage.mobileIdentity.setupRecipient()
        _ = try await bench.addRecipient(["facebook_id": "100", "Mobile User Id": "EM"])
        let client = try await bench.client(engage)
        await client.setConnectivity(.offline)
        try await client.session(for: User(id: setup.mobileUserID)).track(.custom("seen"))
        try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        #expect(engage.profile.mobileUserID == "EM")
        await client.setConnectivity(.online)
        try await client.flush()
        let behavior = try #require(try await bench.behaviors().first)
        #expect(behavior["Primary User Id"] == setup.mobileUserID)
        #expect(behavior["Recipient Id"] == setup.recipientID)
    }

    @Test("a session belongs to the merged user after the call that names it, and to the former user after a failure")
    func session() async throws {
        let engage = try await ready()
        let setup = try await engage.mobileIdentity.setupRecipient()
        let existing = try await bench.addRecipient(["facebook_id": "100", "Mobile User Id": "EM"])
        let client = try await bench.client(engage)
        let session = client.session(for: User(id: setup.mobileUserID, anonymousID: "anon", consent: .granted))
        await bench.fault(161, on: "SelectRecipientData")
        await #expect(throws: ExperimentationError.self) {
            try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"], for: session)
        }
        #expect(session.user.id == setup.mobileUserID)
        try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"], for: session)
        #expect(session.user == User(id: "EM", anonymousID: "anon", consent: .granted))
        try await session.track(.custom("A"))
        try await client.flush()
        let told = try await bench.behaviors().map { [$0["Primary User Id"], $0["Recipient Id"]] }
        #expect(told == [["EM", existing]])
    }

    @Test("a session that the application gives to another user meanwhile stays that user's")
    func sessionOfAnother() async throws {
        let engage = try await ready()
        let setup = try await engage.mobileIdentity.setupRecipient()
        _ = try await bench.addRecipient(["facebook_id": "100", "Mobile User Id": "EM"])
        let client = try await bench.client(engage)
        let session = client.session(for: User(id: setup.mobileUserID, consent: .granted))
        bench.hold("SelectRecipientData")
        let check = Task { try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"], for: session) }
        try await bench.isHolding()
        session.identify(Identity(id: "ben"))
        bench.letGo()
        #expect(try await check.value.mobileUserID == "EM")
        #expect(session.user.id == "ben")
    }
}
