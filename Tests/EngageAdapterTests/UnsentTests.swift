import Experimentation
import ExperimentationTesting
import Foundation
import Testing
import Waiting

@testable import EngageAdapter

@Suite("What is no longer sent about a user who was removed in the meantime")
struct UnsentTests {
    let bench = EngageWorkbench()

    /// Begins a call, removes its user while an operation is held, and ends it.
    ///
    /// - Returns: The operations that the vendor got of the call.
    private func operations(
        holding operation: String,
        removing user: String,
        from engage: Engage,
        of call: @escaping @Sendable () async throws -> Void
    ) async throws -> [String] {
        bench.forgetExchanges()
        bench.hold(operation)
        let call = Task { try await call() }
        try await bench.isHolding()
        try await engage.profile.forget(user)
        bench.letGo()
        let error = await #expect(throws: ExperimentationError.self) { try await call.value }
        #expect(error == EngageErrors.forgotten)
        return bench.operations
    }

    @Test("their recipient, if they are removed while it is looked for")
    func search() async throws {
        let engage = bench.engage()
        bench.plan(.lostBefore, on: "AddRecipient")
        await #expect(throws: ExperimentationError.self) { try await engage.mobileIdentity.setupRecipient() }
        let user = engage.profile.mobileUserID
        let sent = try await operations(holding: "SelectRecipientData", removing: user, from: engage) {
            try await engage.mobileIdentity.setupRecipient()
        }
        #expect(sent == ["SelectRecipientData"])
        #expect(try await bench.recipients() == [])
    }

    @Test("their recipient, if they are removed while there is no access token yet")
    func token() async throws {
        let engage = bench.engage()
        let user = try await engage.mobileIdentity.prepareRecipient()
        let sent = try await operations(holding: "token", removing: user, from: engage) {
            try await engage.mobileIdentity.setupRecipient()
        }
        #expect(sent == ["token"])
    }

    @Test("their recipient, if they left before, while the installation's new user gets one")
    func left() async throws {
        let engage = bench.engage()
        let user = try await engage.mobileIdentity.prepareRecipient()
        bench.hold("token")
        let setup = Task { try await engage.mobileIdentity.setupRecipient() }
        try await bench.isHolding()
        try await engage.profile.storeMobileUserID("ben")
        try await engage.profile.forget(user)
        bench.letGo()
        #expect(try await setup.value == .init(recipientID: "100000", mobileUserID: "ben"))
        #expect(try await bench.recipients().map { $0.values["Mobile User Id"] } == ["ben"])
    }

    @Test("an anonymous recipient, if they are removed while there is no access token yet")
    func anonymous() async throws {
        let engage = bench.engage()
        let user = try await engage.mobileIdentity.prepareRecipient()
        let sent = try await operations(holding: "token", removing: user, from: engage) {
            try await engage.anonymousUser.create(list: "23949")
        }
        #expect(sent == ["token"])
    }

    @Test("their id to the known recipient, if they are removed while the anonymous one gets it")
    func primaryUser() async throws {
        let engage = bench.engage()
        try await engage.anonymousUser.create(list: "23949")
        let sent = try await operations(holding: "UpdateRecipient", removing: "ada", from: engage) {
            try await engage.anonymousUser.updateToPrimaryUser(
                "ada",
                list: "23949",
                primaryColumn: "Email",
                mergeColumn: "Mobile User Id"
            )
        }
        #expect(sent == ["UpdateRecipient"])
    }

    @Test("their id to the recipient from before signing in, if they are removed under their former id")
    func formerUser() async throws {
        let engage = bench.engage()
        let user = try await engage.mobileIdentity.prepareRecipient()
        try await engage.profile.storeAnonymousID("100000")
        let sent = try await operations(holding: "token", removing: user, from: engage) {
            try await engage.anonymousUser.updateToPrimaryUser(
                "ada",
                list: "23949",
                primaryColumn: "Email",
                mergeColumn: "Mobile User Id"
            )
        }
        #expect(sent == ["token"])
    }

    @Test("where they are, if they are removed while the columns for it are added")
    func location() async throws {
        let engage = bench.engage { $0.location.isEnabled = true }
        let user = try await engage.mobileIdentity.setupRecipient().mobileUserID
        let sent = try await operations(holding: "AddListColumn", removing: user, from: engage) {
            try await engage.updateLastKnownLocation(.init(city: "Vienna", date: .distantPast))
        }
        #expect(sent == ["AddListColumn"])
    }

    @Test("a step of their merge, if they are removed while it waits for an access token", arguments: ["anon", "ben"])
    func step(user: String) async throws {
        let engage = bench.engage()
        _ = try await bench.addRecipient(["Mobile User Id": "ben"])
        let (from, to) = (Identity(id: "anon"), Identity(id: "ben"))
        let progress = try await engage.linker.advance(LinkProgress(from: from, to: to))
        let sent = try await operations(holding: "token", removing: user, from: engage) {
            _ = try await engage.linker.advance(progress)
        }
        #expect(sent == ["token"])
    }

    @Test("the row owed for their merge, while other users' rows are sent")
    func rows() async throws {
        let engage = bench.engage { $0.recipients.audit = .init(tableID: "29392") }
        for user in ["ada", "ben"] {
            let row = OwedAudit(
                key: user,
                oldRecipient: "1",
                newRecipient: "2\(user)",
                moment: bench.time.now,
                mobileUserID: user
            )
            try await engage.profile.update { $0.owe(row) }
        }
        bench.hold("token")
        let settling = Task { try await engage.mobileIdentity.resumePendingMerge() }
        try await bench.isHolding()
        try await engage.profile.forget("ada")
        bench.letGo()
        _ = try await settling.value
        #expect(try await bench.auditRows().map { $0["Audit Record Id"] } == ["ben"])
        #expect(engage.profile.record.audits == [])
    }
}
