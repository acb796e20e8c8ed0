import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Synchronization
import Testing
import Waiting

@testable import EngageAdapter

@Suite("The stored state of an installation")
struct ProfileTests {
    @Test("concurrent changes from many tasks are all stored", .timeLimit(.minutes(10)))
    func manyChanges() async throws {
        // Tasks of low priority wait for all others of the process, which on a busy machine takes seconds a round.
        for round in 0..<(isSoak ? 200 : 20) {
            let store = InMemoryStateStore()
            let profile = EngageProfile(store: store, key: "p")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<64 {
                    let priority: TaskPriority = number.isMultiple(of: 2) ? .high : .low
                    group.addTask(priority: priority) {
                        try await profile.update { $0.note(recipient: "r\(number)", of: "m\(number)") }
                    }
                }
                try await group.waitForAll()
            }
            let next = EngageProfile(store: store, key: "p")
            try await next.load()
            #expect(next.record.others.count == 64, "round \(round)")
        }
    }

    @Test("a change that can't be stored throws, and the next one stores both")
    func failure() async throws {
        let store = FlakyStateStore()
        let profile = EngageProfile(store: store, key: "p")
        await #expect(throws: ExperimentationError.self) { try await profile.storeMobileUserID("m") }
        try await profile.storeRecipientID("r")
        let next = EngageProfile(store: store, key: "p")
        try await next.load()
        #expect([next.mobileUserID, next.recipientID] == ["m", "r"])
    }

    @Test("a change before which the state couldn't be read throws, and the next one keeps the state")
    func failedRead() async throws {
        let base = InMemoryStateStore()
        try await EngageProfile(store: base, key: "p").storeRecipientID("r")
        let profile = EngageProfile(store: FlakyStateStore(over: base, failing: .read), key: "p")
        await #expect(throws: ExperimentationError.self) { try await profile.storeMobileUserID("m") }
        try await profile.storeMobileUserID("m")
        #expect([profile.mobileUserID, profile.recipientID] == ["m", "r"])
    }

    @Test("an unreadable state counts as missing and is logged; none at all isn't", arguments: ["nonsense", nil])
    func unreadable(text: String?) async throws {
        let store = InMemoryStateStore()
        try await store.setValue(text.map { Array($0.utf8) }, for: "p")
        let log = RecordingLog()
        let profile = EngageProfile(store: store, key: "p", log: log)
        try await profile.load()
        #expect(profile.record == EngageRecord())
        #expect(log.entries.map(\.event) == (text == nil ? [] : ["engage.profile.unreadable"]))
    }
}

/// A store whose first read or write fails.
private final class FlakyStateStore: StateStoreDecorator {
    enum Call: Sendable {
        case read, write
    }

    let baseState: any StateStore
    private let failing: Mutex<Call?>

    init(over base: any StateStore = InMemoryStateStore(), failing call: Call = .write) {
        baseState = base
        failing = Mutex(call)
    }

    private func fail(_ call: Call) throws(ExperimentationError) {
        let fails = failing.withLock { failing in
            guard failing == call else { return false }
            failing = nil
            return true
        }
        if fails { throw ExperimentationError(.store, "the first one fails") }
    }

    func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        try fail(.read)
        return try await baseState.value(for: key)
    }

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        try fail(.write)
        try await baseState.setValue(value, for: key)
    }
}

@Suite("Stored state survives calls made before it was read")
struct EarlyChangeTests {
    enum Call: CaseIterable {
        case mobileUserID, recipientID, anonymousID, anonymousUser, setup, token, campaign, launch
    }

    @Test("an early call leaves unrelated state unchanged", arguments: Call.allCases)
    func early(call: Call) async throws {
        let bench = EngageWorkbench()
        await bench.settings(#"{"rotatesRefreshTokens":true,"tokenLifetime":100,"reissueWindow":0}"#)
        let first = bench.engage()
        try await first.mobileIdentity.setupRecipient()
        try await first.profile.update { record in
            record.isInstalled = true
            record.campaigns.put(.init(name: "Spring", from: .distantPast, until: .distantFuture))
            record.merge = MergeIntent(id: "m", fields: ["a": "b"], mobileUserID: record.mobileUserID)
            record.others = ["ada": "7"]
        }
        let kept = first.profile.record
        #expect(kept.refreshToken == "refresh-1")
        let engage = bench.engage()
        let client = try await ExperimentationClient(provider: InMemoryProvider(), environment: bench.environment)
        switch call {
        case .mobileUserID: try await engage.profile.storeMobileUserID("own")
        case .recipientID: try await engage.profile.storeRecipientID("own")
        case .anonymousID: try await engage.profile.storeAnonymousID("own")
        case .anonymousUser: try await engage.anonymousUser.create(list: "23949")
        case .setup: try await engage.mobileIdentity.setupRecipient()
        case .token: try await engage.reach()
        case .campaign: try await engage.tracker(for: client.session(for: User(id: "u"))).storeCampaign("Summer")
        case .launch: try await engage.tracker(for: client.session(for: User(id: "u"))).launch()
        }
        var (before, after) = (kept, engage.profile.record)
        #expect(after.isInstalled && after.merge == kept.merge && after.others == kept.others)
        #expect(after.campaigns.current(at: Date.distantPast.addingTimeInterval(1)) == "Spring")
        #expect(try #require(after.refreshToken) >= "refresh-1")
        if call != .mobileUserID { #expect(after.mobileUserID == kept.mobileUserID) }
        if call != .recipientID { #expect(after.recipientID == kept.recipientID) }
        // The first token wasn't requested again.
        let tokens = bench.exchanges("token").map {
            FormEncoding.decode($0.request.text).first { $0.name == "refresh_token" }?.value
        }
        #expect(tokens.filter { $0 == "refresh" }.count == 1)
        (before, after) = (after, try await reread(bench))
        #expect(before == after)
        await client.shutdown(within: .zero)
    }

    private func reread(_ bench: EngageWorkbench) async throws -> EngageRecord {
        let engage = bench.engage()
        try await engage.profile.load()
        return engage.profile.record
    }
}

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

    @Test("of the installation's own user, only the fact of installation is kept, across restarts too")
    func own() async throws {
        let (engage, id) = try await filled()
        let client = try await bench.client(engage)
        try await client.session(for: User(id: id)).setConsent(.denied)
        #expect(engage.profile.record == Self.rest)
        let next = bench.engage()
        try await next.begin()
        #expect(next.profile.record == Self.rest)
    }

    /// What remains of ``filled(_:)`` without its own user.
    private static let rest: EngageRecord = {
        var record = EngageRecord()
        record.isInstalled = true
        record.hasLocationColumns = true
        record.others = ["ada": "7", "bob": "8"]
        return record
    }()

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
        #expect(engage.profile.record == EngageRecord())
        let next = try await engage.mobileIdentity.prepareRecipient()
        #expect(next != id)
        #expect(
            try await engage.mobileIdentity.setupRecipient() == .init(recipientID: "100001", mobileUserID: next)
        )
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
        #expect(engage.profile.record == Self.rest)
        let next = bench.engage()
        try await next.begin()
        #expect(next.profile.record == Self.rest)
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
        #expect(engage.profile.record == Self.rest)
    }

    @Test("the ids and recipients before several merges are forgotten, and no one else's", arguments: [true, false])
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

    @Test("if a denial is an opt-out, the recipient is kept until the vendor has it", arguments: [true, false])
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
