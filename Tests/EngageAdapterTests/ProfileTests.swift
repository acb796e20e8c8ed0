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

    @Test("ids that differ only in their Unicode form are those of different users")
    func unicodeForms() {
        let forms = ["caf\u{E9}", "cafe\u{301}"]
        var own = EngageRecord()
        own.mobileUserID = forms[0]
        own.recipientID = "1"
        own.forget(forms[1])
        #expect(forms.map(own.recipient) == ["1", ""])
        own.note(recipient: "2", of: forms[1])
        #expect(forms.map(own.recipient) == ["1", "2"])
        var others = EngageRecord()
        others.note(recipient: "3", of: forms[0])
        others.forget(forms[1])
        #expect(forms.map(others.recipient) == ["3", ""])
        others.note(recipient: "4", of: forms[1])
        #expect(forms.map(others.recipient) == ["", "4"])
    }

    @Test("a mobile user id is stored in the Unicode form that it was given last")
    func lastForm() async throws {
        let store = InMemoryStateStore()
        let profile = EngageProfile(store: store, key: "p")
        for form in ["caf\u{E9}", "cafe\u{301}"] {
            try await profile.storeMobileUserID(form)
            let next = EngageProfile(store: store, key: "p")
            try await next.load()
            #expect(Array(next.mobileUserID.utf8) == Array(form.utf8))
        }
    }

    @Test("a change throws if the state couldn't be read before it, and the next change keeps the state")
    func failedRead() async throws {
        let base = InMemoryStateStore()
        try await EngageProfile(store: base, key: "p").storeRecipientID("r")
        let profile = EngageProfile(store: FlakyStateStore(over: base, failing: .read), key: "p")
        await #expect(throws: ExperimentationError.self) { try await profile.storeMobileUserID("m") }
        try await profile.storeMobileUserID("m")
        #expect([profile.mobileUserID, profile.recipientID] == ["m", "r"])
    }

    @Test("unreadable state counts as missing and is logged; missing state isn't logged", arguments: ["nonsense", nil])
    func unreadable(text: String?) async throws {
        let store = InMemoryStateStore()
        try await store.setValue(text.map { Array($0.utf8) }, for: "p")
        let log = RecordingLog()
        let profile = EngageProfile(store: store, key: "p", environment: ClientEnvironment(log: log))
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
        // Another mobile user id leaves the recipient to the former one.
        var others = kept.others
        if call == .mobileUserID { others[kept.mobileUserID] = kept.recipientID }
        #expect(after.isInstalled && after.merge == kept.merge && after.others == others)
        #expect(after.campaigns.current(at: Date.distantPast.addingTimeInterval(1)) == "Spring")
        #expect(try #require(after.refreshToken) >= "refresh-1")
        if call != .mobileUserID { #expect(after.mobileUserID == kept.mobileUserID) }
        if ![.recipientID, .mobileUserID].contains(call) { #expect(after.recipientID == kept.recipientID) }
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
