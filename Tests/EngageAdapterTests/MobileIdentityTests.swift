import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing
import Waiting

@testable import EngageAdapter

@Suite("Recipients are created and merged")
struct MobileIdentityTests {
    let bench = EngageWorkbench()

    private func ready(_ change: (inout EngageConfiguration) -> Void = { _ in }) async throws -> Engage {
        let engage = bench.engage(change)
        try await engage.begin()
        return engage
    }

    private func audited(_ configuration: inout EngageConfiguration) {
        configuration.recipients.audit = .init(tableID: "29392")
    }

    // MARK: Setting up

    @Test("E31 with nothing stored, a recipient is added and both ids are stored")
    func setup() async throws {
        let engage = try await ready()
        let result = try await engage.mobileIdentity.setupRecipient()
        #expect(bench.operations == ["token", "AddRecipient"])
        #expect(
            bench.exchanges("AddRecipient").first?.envelope
                == "<Envelope><Body><AddRecipient><LIST_ID>23949</LIST_ID><COLUMN><NAME>Mobile User Id</NAME>"
                + "<VALUE>ID-1</VALUE></COLUMN></AddRecipient></Body></Envelope>"
        )
        #expect(result == .init(recipientID: "100000", mobileUserID: "ID-1"))
        #expect(engage.profile.recipientID == "100000" && engage.profile.mobileUserID == "ID-1")
        let next = try await ready()
        #expect(next.profile.recipientID == "100000" && next.profile.mobileUserID == "ID-1")
    }

    @Test("E32 with both ids stored, nothing is sent")
    func known() async throws {
        let engage = try await ready()
        try await engage.mobileIdentity.setupRecipient()
        bench.forgetExchanges()
        let result = try await ready().mobileIdentity.setupRecipient()
        #expect(result == .init(recipientID: "100000", mobileUserID: "ID-1"))
        #expect(bench.operations.isEmpty)
    }

    @Test("E33 the application's own mobile user id is used")
    func manual() async throws {
        let engage = try await ready { $0.recipients.autoAnonymous = false }
        try await engage.profile.storeMobileUserID("mine")
        try await engage.mobileIdentity.setupRecipient()
        #expect(bench.operations == ["token", "AddRecipient"])
        #expect(try await bench.recipients().map(\.values) == [["Mobile User Id": "mine"]])
    }

    @Test("E34 a recipient without a mobile user id gets one and stays the same")
    func recipientOnly() async throws {
        let id = try await bench.addRecipient(["Email": "ann@example.test"])
        let engage = try await ready()
        try await engage.profile.storeRecipientID(id)
        let result = try await engage.mobileIdentity.setupRecipient()
        #expect(bench.operations == ["token", "UpdateRecipient"])
        #expect(result == .init(recipientID: id, mobileUserID: "ID-1"))
        #expect(try await bench.recipient(id)["Mobile User Id"] == "ID-1")
    }

    @Test(
        "a recipient whose mobile user id was made without a network gets it later, stays the same, and is asked once",
        arguments: [true, false],
        [true, false]
    )
    func recipientOnlyPrepared(byDelivery: Bool, isPreparedFirst: Bool) async throws {
        let id = try await bench.addRecipient(["Email": "ann@example.test"])
        let engage = bench.engage()
        let client = try await bench.client(engage)
        if !isPreparedFirst { try await engage.profile.storeRecipientID(id) }
        #expect(try await engage.mobileIdentity.prepareRecipient() == "ID-1")
        if isPreparedFirst { try await engage.profile.storeRecipientID(id) }
        #expect(bench.operations == [])
        if byDelivery {
            try await client.session(for: User(id: "ID-1")).track(.custom("A"))
            try await client.flush()
            #expect(bench.operations == ["token", "UpdateRecipient", "events"])
        }
        let result = try await engage.mobileIdentity.setupRecipient()
        #expect(result == .init(recipientID: id, mobileUserID: "ID-1"))
        #expect(bench.operations.filter { $0 != "events" } == ["token", "UpdateRecipient"])
        #expect(try await bench.recipient(id)["Mobile User Id"] == "ID-1")
    }

    @Test("a known recipient gets a prepared id even if no step was recorded as in progress")
    func recipientKnownAndWanted() async throws {
        let id = try await bench.addRecipient(["Email": "ann@example.test"])
        let engage = bench.engage()
        _ = try await engage.mobileIdentity.prepareRecipient()
        try await engage.profile.storeRecipientID(id)
        // As earlier versions left it.
        try await engage.profile.update { $0.addUnderWay = nil }
        let result = try await engage.mobileIdentity.setupRecipient()
        #expect(result == .init(recipientID: id, mobileUserID: "ID-1"))
        #expect(try await bench.recipient(id)["Mobile User Id"] == "ID-1")
        _ = try await engage.mobileIdentity.setupRecipient()
        #expect(bench.operations == ["token", "UpdateRecipient"])
    }

    @Test("a recipient whose mobile user id couldn't be written isn't complete")
    func recipientOnlyFails() async throws {
        let id = try await bench.addRecipient(["Email": "ann@example.test"])
        let engage = try await ready()
        try await engage.profile.storeRecipientID(id)
        await bench.fault(50, on: "UpdateRecipient")
        await #expect(throws: ExperimentationError.self) { try await engage.mobileIdentity.setupRecipient() }
        let result = try await engage.mobileIdentity.setupRecipient()
        #expect(result == .init(recipientID: id, mobileUserID: "ID-1"))
        #expect(try await bench.recipient(id)["Mobile User Id"] == "ID-1")
    }

    @Test("E35 if no id may be generated and there is none, nothing is sent")
    func forbidden() async throws {
        let engage = try await ready { $0.recipients.autoAnonymous = false }
        let error = await #expect(throws: ExperimentationError.self) {
            try await engage.mobileIdentity.setupRecipient()
        }
        #expect(error?.code == .configuration)
        #expect(bench.operations.isEmpty && engage.profile.mobileUserID.isEmpty)
    }

    @Test("E36 without a list or a column nothing is sent", arguments: [true, false])
    func unconfigured(list: Bool) async throws {
        let engage = try await ready {
            if list { $0.listID = "" } else { $0.recipients.mobileUserIDColumn = "" }
        }
        let error = await #expect(throws: ExperimentationError.self) {
            try await engage.mobileIdentity.setupRecipient()
        }
        #expect(error?.code == .configuration)
        #expect(bench.operations.isEmpty && engage.profile.mobileUserID.isEmpty)
    }

    @Test(
        "E37 after a failure the recipient is added at the next call, with the same mobile user id",
        arguments: [
            true, false,
        ]
    )
    func failedOnce(isFault: Bool) async throws {
        let engage = try await ready()
        if isFault { await bench.fault(120, on: "AddRecipient") } else { bench.plan(.lostBefore, on: "AddRecipient") }
        await #expect(throws: ExperimentationError.self) { try await engage.mobileIdentity.setupRecipient() }
        #expect(engage.profile.mobileUserID == "ID-1" && engage.profile.recipientID.isEmpty)
        let result = try await ready().mobileIdentity.setupRecipient()
        #expect(result.mobileUserID == "ID-1")
        #expect(try await bench.recipients().map(\.values) == [["Mobile User Id": "ID-1"]])
    }

    @Test("E38 after a lost answer there is no second recipient")
    func lostAnswer() async throws {
        let engage = try await ready()
        bench.plan(.lostAfter, on: "AddRecipient")
        await #expect(throws: ExperimentationError.self) { try await engage.mobileIdentity.setupRecipient() }
        let result = try await ready().mobileIdentity.setupRecipient()
        #expect(result == .init(recipientID: "100000", mobileUserID: "ID-1"))
        #expect(try await bench.recipients().count == 1)
    }

    @Test("after a lost answer there is no second recipient either if the search for it fails first")
    func lostAnswerAndSearch() async throws {
        let engage = try await ready()
        bench.plan(.lostAfter, on: "AddRecipient")
        await bench.fault(50, on: "SelectRecipientData")
        for _ in 0..<2 {
            await #expect(throws: ExperimentationError.self) { try await engage.mobileIdentity.setupRecipient() }
        }
        let result = try await engage.mobileIdentity.setupRecipient()
        #expect(result == .init(recipientID: "100000", mobileUserID: "ID-1"))
        #expect(try await bench.recipients().map(\.id) == [100000])
    }

    @Test("a recipient that was added although the vendor reported a failure is found")
    func addedInSpiteOfFailure() async throws {
        let engage = try await ready()
        await bench.fault(50, on: "AddRecipient", applied: true)
        await #expect(throws: ExperimentationError.self) { try await engage.mobileIdentity.setupRecipient() }
        let result = try await engage.mobileIdentity.setupRecipient()
        #expect(result == .init(recipientID: "100000", mobileUserID: "ID-1"))
        #expect(try await bench.recipients().map(\.id) == [100000])
    }

    @Test("a success without a recipient's id is a failure, and nothing is stored")
    func emptyID() async throws {
        let engage = try await ready()
        let body =
            "<Envelope><Body><RESULT><SUCCESS>TRUE</SUCCESS><RecipientId></RecipientId></RESULT></Body></Envelope>"
        bench.plan(.status(200, body: body, type: "text/xml"), on: "AddRecipient")
        let error = await #expect(throws: ExperimentationError.self) {
            try await engage.mobileIdentity.setupRecipient()
        }
        #expect(error?.code == .vendorFault)
        #expect(engage.profile.recipientID.isEmpty)
    }

    @Test("a custom generator creates the id, and an empty result falls back", arguments: ["own-1", ""])
    func generator(id: String) async throws {
        let engage = try await ready { $0.recipients.makeID = { id } }
        let result = try await engage.mobileIdentity.setupRecipient()
        #expect(result.mobileUserID == (id.isEmpty ? "ID-1" : id))
    }

    // MARK: Checking

    /// A current recipient C with mobile id M, and no other recipient.
    private func current(_ engage: Engage) async throws -> (recipient: String, mobile: String) {
        let setup = try await engage.mobileIdentity.setupRecipient()
        bench.forgetExchanges()
        return (setup.recipientID, setup.mobileUserID)
    }

    static let moment = "02/03/2015 21:46:40 GMT"

    @Test("E39 with no match the current recipient gets the fields")
    func noMatch() async throws {
        let engage = try await ready()
        let (c, m) = try await current(engage)
        let result = try await engage.mobileIdentity.checkIdentity(["facebook_id": "100", "twitter_id": "9"])
        #expect(result == .init(recipientID: c, mergedRecipientID: nil, mobileUserID: m))
        #expect(bench.operations == ["SelectRecipientData", "UpdateRecipient"])
        #expect(
            try await bench.recipient(c) == ["Mobile User Id": m, "facebook_id": "100", "twitter_id": "9"]
        )
    }

    @Test("E40 a match without a mobile user id takes it over, and the current recipient gets the history")
    func unclaimed() async throws {
        let engage = try await ready()
        let (c, m) = try await current(engage)
        let e = try await bench.addRecipient(["facebook_id": "100"])
        let result = try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        #expect(result == .init(recipientID: e, mergedRecipientID: c, mobileUserID: m))
        #expect(try await bench.recipient(e) == ["facebook_id": "100", "Mobile User Id": m])
        #expect(
            try await bench.recipient(c)
                == ["Mobile User Id": "", "Merged Date": Self.moment, "Merged Recipient Id": e]
        )
        #expect(engage.profile.recipientID == e && engage.profile.mobileUserID == m)
        #expect(try await bench.auditRows().isEmpty)
    }

    @Test("E41 a match with a mobile user id becomes current, unchanged")
    func claimed() async throws {
        let engage = try await ready()
        let (c, m) = try await current(engage)
        let e = try await bench.addRecipient(["facebook_id": "100", "Mobile User Id": "EM"])
        let result = try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        #expect(result == .init(recipientID: e, mergedRecipientID: c, mobileUserID: "EM"))
        #expect(try await bench.recipient(e) == ["facebook_id": "100", "Mobile User Id": "EM"])
        #expect(
            try await bench.recipient(c)
                == ["Mobile User Id": m, "Merged Date": Self.moment, "Merged Recipient Id": e]
        )
        #expect(engage.profile.recipientID == e && engage.profile.mobileUserID == "EM")
    }

    @Test("a match whose mobile user id is another Unicode form of the current one is another user")
    func otherForm() async throws {
        let (own, other) = ("caf\u{E9}", "cafe\u{301}")
        let engage = try await ready()
        try await engage.profile.storeMobileUserID(own)
        let setup = try await engage.mobileIdentity.setupRecipient()
        let existing = try await bench.addRecipient(["facebook_id": "100", "Mobile User Id": other])
        try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        #expect(Array(engage.profile.mobileUserID.utf8) == Array(other.utf8))
        #expect([other, own].map(engage.profile.record.recipient(of:)) == [existing, setup.recipientID])
    }

    @Test("E42 a match with the current recipient writes nothing")
    func itself() async throws {
        let engage = try await ready()
        let (c, m) = try await current(engage)
        try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        bench.forgetExchanges()
        let result = try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        #expect(result == .init(recipientID: c, mergedRecipientID: nil, mobileUserID: m))
        #expect(bench.operations == ["SelectRecipientData"])
    }

    @Test("a match with the current recipient changes no id of the application's own")
    func itselfOwnID() async throws {
        let engage = try await ready()
        let (c, m) = try await current(engage)
        try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        try await engage.profile.storeMobileUserID("own")
        try await engage.profile.storeRecipientID(c)
        bench.forgetExchanges()
        let result = try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        #expect(result == .init(recipientID: c, mergedRecipientID: nil, mobileUserID: "own"))
        #expect(bench.operations == ["SelectRecipientData"])
        #expect(engage.profile.recipientID == c && engage.profile.mobileUserID == "own")
        #expect(try await bench.recipient(c) == ["Mobile User Id": m, "facebook_id": "100"])
    }

    @Test("a match with the current recipient restores its missing mobile user id")
    func itselfUnclaimed() async throws {
        let engage = try await ready()
        let (c, m) = try await current(engage)
        try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        try await engage.xmlapi.perform(.updateRecipient(id: c, list: "23949", columns: ["Mobile User Id": ""]))
        let result = try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        #expect(result == .init(recipientID: c, mergedRecipientID: nil, mobileUserID: m))
        #expect(try await bench.recipient(c)["Mobile User Id"] == m)
    }

    @Test("E43 history in the audit table only is one row and no column")
    func auditOnly() async throws {
        let engage = try await ready {
            audited(&$0)
            $0.recipients.historyInList = false
        }
        let (c, m) = try await current(engage)
        let e = try await bench.addRecipient(["facebook_id": "100", "Mobile User Id": "EM"])
        try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        #expect(try await bench.recipient(c) == ["Mobile User Id": m])
        let rows = try await bench.auditRows()
        #expect(rows.count == 1)
        #expect(rows.first?["Old Recipient Id"] == c && rows.first?["New Recipient Id"] == e)
        #expect(rows.first?["Create Date"] == Self.moment)
    }

    @Test("E44 history in both places has the same date")
    func both() async throws {
        let engage = try await ready(audited)
        let (c, _) = try await current(engage)
        _ = try await bench.addRecipient(["facebook_id": "100"])
        // The date is that of the search, however long the following steps take.
        bench.plan(.lostBefore, on: "UpdateRecipient")
        await #expect(throws: ExperimentationError.self) {
            try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        }
        bench.time.advance(by: .seconds(3600))
        try await engage.mobileIdentity.resumePendingMerge()
        #expect(try await bench.recipient(c)["Merged Date"] == Self.moment)
        #expect(try await bench.auditRows().map { $0["Create Date"] } == [Self.moment])
    }

    @Test("E45 an audit table without an id fails before anything is written")
    func auditUnconfigured() async throws {
        let engage = try await ready { $0.recipients.audit = .init(tableID: "") }
        let error = await #expect(throws: ExperimentationError.self) {
            try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        }
        #expect(error?.code == .configuration)
        #expect(bench.operations.isEmpty)
    }

    @Test("E46 a search fault other than 128 is a failure, and nothing is written")
    func searchFault() async throws {
        let engage = try await ready()
        let (c, m) = try await current(engage)
        await bench.fault(161, on: "SelectRecipientData")
        let error = await #expect(throws: ExperimentationError.self) {
            try await engage.mobileIdentity.checkIdentity(["no such column": "1"])
        }
        #expect(error?.code == .vendorFault)
        #expect((error?.cause as? MergeInterruption)?.isResumable == false)
        #expect(bench.operations == ["SelectRecipientData"])
        #expect(engage.profile.recipientID == c && engage.profile.mobileUserID == m)
        #expect(try await engage.mobileIdentity.resumePendingMerge() == nil)
    }

    @Test("an unknown column is a fault, and nothing has changed")
    func unknownColumn() async throws {
        let engage = try await ready()
        let (c, m) = try await current(engage)
        await #expect(throws: ExperimentationError.self) {
            try await engage.mobileIdentity.checkIdentity(["no such column": "1"])
        }
        #expect(try await bench.recipients().map(\.values) == [["Mobile User Id": m]])
        #expect(engage.profile.recipientID == c)
    }

    @Test("E47 a fault in the second step is a failure; ids and intent are kept")
    func faultInSecondStep() async throws {
        let engage = try await ready()
        let (c, m) = try await current(engage)
        let e = try await bench.addRecipient(["facebook_id": "100"])
        await bench.control("POST", "/faults", #"[{"operation":"UpdateRecipient","code":50,"after":1}]"#)
        let error = await #expect(throws: ExperimentationError.self) {
            try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        }
        let interruption = error?.cause as? MergeInterruption
        #expect(interruption?.step == "releaseCurrent" && interruption?.isResumable == true)
        #expect(engage.profile.recipientID == c && engage.profile.mobileUserID == m)
        let resumed = try await engage.mobileIdentity.resumePendingMerge()
        #expect(resumed == .init(recipientID: e, mergedRecipientID: c, mobileUserID: m))
        #expect(engage.profile.recipientID == e)
    }

    /// The writes of scenario 2 with an audit table: two updates and a row.
    @Test(
        "E48 a merge interrupted at any step by the end of the process is completed by the next start, once",
        arguments: [
            ("SelectRecipientData", true), ("SelectRecipientData", false), ("UpdateRecipient", true),
            ("UpdateRecipient", false), ("UpdateRecipient2", true), ("UpdateRecipient2", false),
            ("InsertUpdateRelationalTable", true), ("InsertUpdateRelationalTable", false),
        ]
    )
    func resumed(operation: String, isApplied: Bool) async throws {
        let engage = try await ready(audited)
        let (c, m) = try await current(engage)
        let e = try await bench.addRecipient(["facebook_id": "100"])
        let isSecond = operation.hasSuffix("2")
        bench.plan(
            isApplied ? .lostAfter : .lostBefore,
            on: isSecond ? String(operation.dropLast()) : operation,
            after: isSecond ? 1 : 0
        )
        // The process ends when the answer is lost.
        _ = try? await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        bench.time.advance(by: .seconds(1000))
        let next = try await ready(audited)
        _ = try await next.mobileIdentity.resumePendingMerge()
        if operation == "SelectRecipientData" {
            // Nothing was written, so nothing is resumed.
            #expect(try await bench.recipient(e) == ["facebook_id": "100"])
            _ = try await next.mobileIdentity.checkIdentity(["facebook_id": "100"])
        }
        #expect(next.profile.recipientID == e && next.profile.mobileUserID == m)
        #expect(try await bench.recipient(e) == ["facebook_id": "100", "Mobile User Id": m])
        let old = try await bench.recipient(c)
        #expect(old["Mobile User Id"] == "" && old["Merged Recipient Id"] == e)
        let rows = try await bench.auditRows()
        #expect(rows.count == 1)
        #expect(rows.first?["Create Date"] == old["Merged Date"])
        #expect(try await next.mobileIdentity.resumePendingMerge() == nil)
        #expect(try await bench.recipients().count == 2)
    }

    @Test("the start resumes a merge by itself")
    func resumedByStart() async throws {
        let engage = try await ready()
        _ = try await current(engage)
        let e = try await bench.addRecipient(["facebook_id": "100"])
        bench.plan(.lostBefore, on: "UpdateRecipient")
        _ = try? await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        let next = try await ready()
        try await eventually("the merged recipient") { next.profile.recipientID == e }
        #expect(try await bench.recipient(e)["Mobile User Id"] == "ID-1")
    }

    @Test("a row that the audit table rejects leaves the merge done and the row pending")
    func auditPending() async throws {
        let engage = try await ready(audited)
        let (c, m) = try await current(engage)
        let e = try await bench.addRecipient(["facebook_id": "100"])
        await bench.fault(50, on: "InsertUpdateRelationalTable")
        let result = try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        #expect(result.pendingAudit?.code == .vendorFault)
        #expect(result.recipientID == e && result.mergedRecipientID == c && result.mobileUserID == m)
        #expect(engage.profile.recipientID == e)
        let resumed = try await engage.mobileIdentity.resumePendingMerge()
        #expect(resumed?.pendingAudit == nil)
        #expect(try await bench.auditRows().count == 1)
    }

    @Test("E49 of two fields both must match")
    func partialMatch() async throws {
        let engage = try await ready()
        let (c, _) = try await current(engage)
        _ = try await bench.addRecipient(["facebook_id": "100"])
        let result = try await engage.mobileIdentity.checkIdentity(["facebook_id": "100", "twitter_id": "9"])
        #expect(result.recipientID == c && result.mergedRecipientID == nil)
        #expect(try await bench.recipient(c)["twitter_id"] == "9")
    }

    @Test("E50 two concurrent checks run one after the other")
    func serial() async throws {
        let engage = try await ready()
        let (c, m) = try await current(engage)
        let e = try await bench.addRecipient(["facebook_id": "100"])
        async let first = engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        async let second = engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        let results = try await [first, second].sorted { ($0.mergedRecipientID ?? "") > ($1.mergedRecipientID ?? "") }
        #expect(results.map(\.mergedRecipientID) == [c, nil])
        #expect(results.allSatisfy { $0.recipientID == e && $0.mobileUserID == m })
        #expect(
            bench.operations
                == ["SelectRecipientData", "UpdateRecipient", "UpdateRecipient", "SelectRecipientData"]
        )
    }

    @Test("without fields there is nothing to check", arguments: [[:], ["": "x"]])
    func noFields(fields: [String: String]) async throws {
        let engage = try await ready()
        let error = await #expect(throws: ExperimentationError.self) {
            try await engage.mobileIdentity.checkIdentity(fields)
        }
        #expect(error?.code == .invalidArgument)
        #expect(bench.operations.isEmpty)
    }

    // MARK: The neutral way

    @Test("linking an anonymous user to a known one makes the known recipient current")
    func link() async throws {
        let known = try await bench.addRecipient(["Mobile User Id": "ada"])
        let engage = try await ready(audited)
        let client = try await bench.client(engage)
        let session = client.session(for: User(id: "anon"))
        let identity = try await session.link(to: Identity(id: "ada", anonymousID: "anon", isAuthenticated: true))
        #expect(identity.id == "ada" && session.user.id == "ada")
        let old = try #require(try await bench.recipients().first { $0.values["Mobile User Id"] == "anon" })
        #expect(old.values["Merged Recipient Id"] == known)
        #expect(try await bench.auditRows().count == 1)
        try await session.track(.custom("seen"))
        try await client.flush()
        let behavior = try #require(try await bench.behaviors().first)
        #expect(behavior["Primary User Id"] == "ada" && behavior["Recipient Id"] == known)
    }

    @Test("linking to an unknown user gives the recipient the new id")
    func linkToNew() async throws {
        let client = try await bench.client(bench.engage())
        let session = client.session(for: User(id: "anon"))
        try await session.link(to: Identity(id: "ada"))
        #expect(try await bench.recipients().map(\.values) == [["Mobile User Id": "ada"]])
        #expect(session.user.id == "ada")
    }

    @Test("linking gives a recipient known only by its id the mobile user id too", arguments: [true, false])
    func linkRecipientOnly(isPreparedFirst: Bool) async throws {
        let known = try await bench.addRecipient(["Email": "ann@example.test"])
        let engage = bench.engage()
        let client = try await bench.client(engage)
        if !isPreparedFirst { try await engage.profile.storeRecipientID(known) }
        let session = client.session(for: User(id: try await engage.mobileIdentity.prepareRecipient()))
        if isPreparedFirst { try await engage.profile.storeRecipientID(known) }
        try await session.link(to: Identity(id: "x"), criteria: ["facebook_id": "100"])
        try await session.track(.custom("A"))
        try await client.flush()
        #expect(bench.operations == ["token", "UpdateRecipient", "SelectRecipientData", "UpdateRecipient", "events"])
        #expect(
            try await bench.recipients().map(\.values) == [
                ["Email": "ann@example.test", "Mobile User Id": "ID-1", "facebook_id": "100"]
            ]
        )
    }

    @Test("linking by criteria returns the resulting id")
    func linkByCriteria() async throws {
        _ = try await bench.addRecipient(["facebook_id": "100", "Mobile User Id": "EM"])
        let client = try await bench.client(bench.engage())
        let session = client.session(for: User(id: "anon"))
        let identity = try await session.link(to: Identity(id: "x"), criteria: ["facebook_id": "100"])
        #expect(identity.id == "EM")
    }

    @Test(
        "linking interrupted at any exchange is completed by the next run, once",
        arguments: 0..<5,
        [true, false]
    )
    func linkResumed(exchange: Int, isApplied: Bool) async throws {
        let known = try await bench.addRecipient(["facebook_id": "100"])
        let first = try await bench.client(bench.engage(audited))
        bench.plan(isApplied ? .lostAfter : .lostBefore, on: "*", after: exchange + 1)
        let session = first.session(for: User(id: "anon"))
        let criteria = ["facebook_id": "100"]
        _ = try? await session.link(to: Identity(id: "anon"), criteria: criteria)
        bench.forgetPlans()
        let next = try await bench.client(bench.engage(audited))
        let again = next.session(for: User(id: "anon"))
        try await again.link(to: Identity(id: "anon"), criteria: criteria)
        #expect(try await bench.recipient(known)["Mobile User Id"] == "anon")
        #expect(try await bench.recipients().count == 2)
        #expect(try await bench.auditRows().count == 1)
    }

    @Test("linking goes on without the known recipient if that is deleted before it was written to")
    func linkToDeleted() async throws {
        let known = try await bench.addRecipient(["facebook_id": "100"])
        let engage = bench.engage()
        let session = try await bench.client(engage).session(for: User(id: "anon"))
        let criteria = ["facebook_id": "100"]
        bench.plan(.lostBefore, on: "UpdateRecipient")
        await #expect(throws: ExperimentationError.self) {
            try await session.link(to: Identity(id: "anon"), criteria: criteria)
        }
        try await engage.xmlapi.perform(XMLAPI(.removeRecipient, ["LIST_ID": "23949", "RECIPIENT_ID": known]))
        let identity = try await session.link(to: Identity(id: "anon"), criteria: criteria)
        #expect(identity.id == "anon")
        #expect(try await bench.recipients().map(\.values) == [["Mobile User Id": "anon", "facebook_id": "100"]])
    }

    @Test("linking that the vendor refuses ends with its fault, and begins again with the next call")
    func linkRefused() async throws {
        let known = try await bench.addRecipient(["facebook_id": "100"])
        let session = try await bench.client(bench.engage()).session(for: User(id: "anon"))
        await bench.fault(161, on: "UpdateRecipient", times: 2)
        for attempt in 1...2 {
            let error = await #expect(throws: ExperimentationError.self) {
                try await session.link(to: Identity(id: "anon"), criteria: ["facebook_id": "100"])
            }
            #expect(error?.code == .vendorFault)
            #expect(bench.exchanges("UpdateRecipient").count == attempt)
        }
        try await session.link(to: Identity(id: "anon"), criteria: ["facebook_id": "100"])
        #expect(try await bench.recipient(known)["Mobile User Id"] == "anon")
    }

    @Test(
        "linking that the vendor refuses halfway is retried once, and then continues with the vendor's state",
        arguments: [true, false]
    )
    func linkRefusedHalfway(historyInList: Bool) async throws {
        let known = try await bench.addRecipient(["facebook_id": "100"])
        let engage = bench.engage { $0.recipients.historyInList = historyInList }
        let session = try await bench.client(engage).session(for: User(id: "anon"))
        await bench.control("POST", "/faults", #"[{"operation":"UpdateRecipient","code":326,"after":1,"times":2}]"#)
        let identity = try await session.link(to: Identity(id: "anon"), criteria: ["facebook_id": "100"])
        #expect(identity.id == "anon")
        #expect(bench.exchanges("UpdateRecipient").count == 4)
        #expect(try await bench.recipient(known) == ["facebook_id": "100", "Mobile User Id": "anon"])
        let other = try #require(try await bench.recipients().first { String($0.id) != known }).values
        #expect(other["Mobile User Id"] == "" && other["Merged Recipient Id"] == (historyInList ? known : nil))
    }

    // MARK: The older way

    @Test("the deprecated calls send their own requests")
    func anonymous() async throws {
        let engage = try await ready()
        let created = try await engage.anonymousUser.create(list: "23949")
        #expect(created.isSuccess && engage.profile.anonymousID == created.recipientID)
        try await engage.profile.update { record in
            record.mobileUserID = "M"
            record.campaigns.put(.init(name: "Spring", from: .distantPast, until: .distantFuture, users: ["M"]))
        }
        let primary = try await bench.addRecipient(["CONTACT_ID": "P-1"])
        let result = try await engage.anonymousUser.updateToPrimaryUser(
            "P-1",
            list: "23949",
            primaryColumn: "CONTACT_ID",
            mergeColumn: "MERGE_CONTACT_ID"
        )
        #expect(result.recipientID == primary)
        #expect(engage.profile.mobileUserID == "P-1")
        #expect(engage.profile.record.campaigns(of: "P-1").entries.map(\.name) == ["Spring"])
        #expect(
            bench.exchanges.suffix(3).map(\.envelope) == [
                "<Envelope><Body><AddRecipient><LIST_ID>23949</LIST_ID></AddRecipient></Body></Envelope>",
                "<Envelope><Body><UpdateRecipient><LIST_ID>23949</LIST_ID><RECIPIENT_ID>\(engage.profile.anonymousID)"
                    + "</RECIPIENT_ID><COLUMN><NAME>MERGE_CONTACT_ID</NAME><VALUE>P-1</VALUE></COLUMN></UpdateRecipient>"
                    + "</Body></Envelope>",
                "<Envelope><Body><UpdateRecipient><LIST_ID>23949</LIST_ID><COLUMN><NAME>MERGE_CONTACT_ID</NAME>"
                    + "<VALUE>P-1</VALUE></COLUMN><SYNC_FIELDS><SYNC_FIELD><NAME>CONTACT_ID</NAME><VALUE>P-1</VALUE>"
                    + "</SYNC_FIELD></SYNC_FIELDS></UpdateRecipient></Body></Envelope>",
            ]
        )
        #expect(try await bench.recipient(primary)["MERGE_CONTACT_ID"] == "P-1")
    }

    @Test("a fault in the first update ends the deprecated merge")
    func anonymousFault() async throws {
        let engage = try await ready()
        try await engage.anonymousUser.create(list: "23949")
        await bench.fault(123, on: "UpdateRecipient")
        let result = try await engage.anonymousUser.updateToPrimaryUser(
            "P-1",
            list: "23949",
            primaryColumn: "CONTACT_ID",
            mergeColumn: "MERGE_CONTACT_ID"
        )
        #expect(result.errorCode == 123)
        #expect(bench.exchanges("UpdateRecipient").count == 1)
    }

    @Test("a client of another vendor has no Engage")
    func otherVendor() async throws {
        let client = try await ExperimentationClient(provider: InMemoryProvider())
        let error = #expect(throws: ExperimentationError.self) { try Engage(of: client) }
        #expect(error == ExperimentationError(.unsupported, "in-memory is not Engage."))
        await client.shutdown()
    }

    @Test("an id that is stored before anything was read keeps an earlier run's state")
    func storedFirst() async throws {
        let engage = bench.engage()
        let setup = try await engage.mobileIdentity.setupRecipient()
        try await engage.profile.update {
            $0.campaigns.put(.init(name: "Spring", from: .distantPast, until: .distantFuture))
        }
        let kept = engage.profile.record
        #expect(!setup.recipientID.isEmpty && kept.recipientID == setup.recipientID)
        let next = bench.engage()
        try await next.profile.storeAnonymousID("A-1")
        var expected = kept
        expected.anonymousID = "A-1"
        #expect(next.profile.record == expected)
        try await next.begin()
        #expect(next.profile.record == expected)
        let third = bench.engage()
        try await third.begin()
        #expect(third.profile.record == expected)
    }

    @Test("clearing the profile forgets ids, campaigns and an unfinished merge, also for the next start")
    func clearProfile() async throws {
        let engage = bench.engage()
        var kept = EngageRecord()
        kept.isInstalled = true
        kept.hasLocationColumns = true
        kept.hasTakenOver = true
        try await engage.profile.update { [kept] in $0 = kept }
        try await engage.mobileIdentity.setupRecipient()
        try await engage.profile.storeAnonymousID("A-1")
        try await engage.profile.update { $0.merge = MergeIntent(id: "m", fields: ["a": "b"], mobileUserID: "x") }
        try await engage.profile.update {
            $0.campaigns.put(.init(name: "Spring", from: .distantPast, until: .distantFuture))
        }
        #expect(engage.profile.record != kept)
        try await engage.profile.clear()
        kept.clear(at: bench.time.now)
        #expect(engage.profile.record == kept)
        let next = bench.engage()
        try await next.begin()
        #expect(next.profile.record == kept)
        #expect(bench.operations == ["token", "AddRecipient"])
    }
}
