import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import EngageAdapter

@Suite("The denial of the installation's own user")
struct InstallationDenialTests {
    private let bench = EngageWorkbench()

    /// Runs the application once: its user's consent is denied, and the process ends.
    private func deny() async throws -> String {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let id = try await engage.mobileIdentity.setupRecipient().mobileUserID
        try await client.session(for: User(id: id)).setConsent(.denied)
        await client.shutdown()
        bench.forgetExchanges()
        return id
    }

    /// Makes the installation's user deny consent, and grant it again in the same session.
    private func changeOfMind(
        _ engage: Engage,
        _ client: ExperimentationClient
    ) async throws -> (setup: MobileIdentity.SetupResult, session: UserSession) {
        let setup = try await engage.mobileIdentity.setupRecipient()
        let session = client.session(for: User(id: setup.mobileUserID))
        try await session.setConsent(.denied)
        try await session.setConsent(.granted)
        return (setup, session)
    }

    private func isDenied(_ call: () async throws -> Void) async {
        let error = await #expect(throws: ExperimentationError.self) { try await call() }
        #expect(error?.code == .consentDenied)
    }

    @Test("survives the launch code of the next run: nothing is prepared, tracked or sent")
    func nextLaunch() async throws {
        _ = try await deny()
        let engage = bench.engage()
        let client = try await bench.client(engage)
        await isDenied {
            let id = try await engage.mobileIdentity.prepareRecipient()
            let session = client.session(for: User(id: id))
            try await engage.tracker(for: session, of: client).launch()
        }
        try await client.flush()
        #expect(try await client.ledger().accepted == 0)
        #expect(bench.operations == [])
    }

    enum Call: CaseIterable {
        case prepare, setUp, check, createAnonymous, updateToPrimary, location
    }

    private func make(_ call: Call, of engage: Engage) async throws {
        let list = engage.configuration.listID
        switch call {
        case .prepare: try await engage.mobileIdentity.prepareRecipient()
        case .setUp: try await engage.mobileIdentity.setupRecipient()
        case .check: try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"])
        case .createAnonymous: try await engage.anonymousUser.create(list: list)
        case .updateToPrimary:
            try await engage.profile.storeAnonymousID("9")
            try await engage.anonymousUser.updateToPrimaryUser(
                "P",
                list: list,
                primaryColumn: "CONTACT_ID",
                mergeColumn: "MERGE_CONTACT_ID"
            )
        case .location:
            try await engage.profile.storeRecipientID("9")
            try await engage.updateLastKnownLocation(nil)
        }
    }

    @Test(
        "refuses every call about that user, in later runs too, and after everything was cleared",
        arguments: Call.allCases
    )
    func calls(call: Call) async throws {
        _ = try await deny()
        for isCleared in [false, true] {
            let engage = bench.engage()
            try await engage.begin()
            if isCleared { try await engage.profile.clear() }
            #expect(engage.profile.isConsentDenied)
            await isDenied { try await make(call, of: engage) }
            #expect(engage.profile.mobileUserID == "")
        }
        #expect(bench.operations == [])
    }

    @Test("is remembered without the user's id")
    func nameless() async throws {
        let id = try await deny()
        let state = bench.store.state
        let key = try #require(try await state.keys(beginningWith: "").first { $0.hasSuffix("profile") })
        let written = String(decoding: try #require(try await state.value(for: key)), as: UTF8.self)
        #expect(written.contains("denials") && !written.contains(id))
    }

    @Test("ends for good when the user consents, who gets a new id and a recipient of their own")
    func consent() async throws {
        let former = try await deny()
        let engage = bench.engage()
        let client = try await bench.client(engage)
        try await engage.profile.grantConsent()
        let id = try await engage.mobileIdentity.prepareRecipient()
        #expect(id != former && !engage.profile.isConsentDenied)
        try await client.session(for: User(id: id)).track(.custom("A"))
        try await client.flush()
        #expect(try await bench.behaviors().map { [$0["Primary User Id"], $0["Recipient Id"]] } == [[id, "100001"]])
        let next = bench.engage()
        #expect(try await next.mobileIdentity.prepareRecipient() == id)
    }

    @Test("ends with the user's next event if the session learns of their consent: they keep id and recipient")
    func sameSession() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let (setup, session) = try await changeOfMind(engage, client)
        try await session.track(.custom("A"))
        try await client.flush()
        #expect(
            try await bench.behaviors().map { [$0["Primary User Id"], $0["Recipient Id"]] } == [
                [setup.mobileUserID, setup.recipientID]
            ]
        )
        #expect(try await bench.engage().mobileIdentity.setupRecipient() == setup)
        #expect(try await bench.recipients().count == 1)
    }

    @Test("ends with a check of the identity if the session learns of the user's consent")
    func checkAfterConsent() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let (setup, session) = try await changeOfMind(engage, client)
        let result = try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"], for: session)
        #expect(result.recipientID == setup.recipientID && session.user.id == setup.mobileUserID)
        #expect(!engage.profile.isConsentDenied)
    }

    @Test("doesn't apply to another user, but applies again when its own user comes back")
    func anotherUser() async throws {
        let id = try await deny()
        let engage = bench.engage()
        try await engage.profile.storeMobileUserID("ben")
        #expect(try await engage.mobileIdentity.setupRecipient().mobileUserID == "ben")
        let operations = bench.operations
        try await engage.profile.storeMobileUserID(id)
        await isDenied { try await engage.mobileIdentity.setupRecipient() }
        #expect(bench.operations == operations)
        try await engage.profile.grantConsent()
        #expect(try await engage.mobileIdentity.setupRecipient().mobileUserID == id)
    }

    @Test("ends for the user's former id too when that comes back after they consented")
    func formerID() async throws {
        let id = try await deny()
        let engage = bench.engage()
        try await engage.profile.grantConsent()
        try await engage.profile.storeMobileUserID(id)
        #expect(!engage.profile.isConsentDenied)
        #expect(try await engage.mobileIdentity.prepareRecipient() == id)
        let next = bench.engage()
        #expect(try await next.mobileIdentity.prepareRecipient() == id)
    }

    @Test("ends for good with an event of that user, even if they are the installation's own user again")
    func ownAgain() async throws {
        let id = try await deny()
        let engage = bench.engage()
        let client = try await bench.client(engage)
        try await engage.profile.storeMobileUserID(id)
        let session = client.session(for: User(id: id))
        try await session.setConsent(.granted)
        try await session.track(.custom("A"))
        try await client.flush()
        #expect(!engage.profile.isConsentDenied)
        try await engage.profile.clear()
        #expect(!engage.profile.isConsentDenied)
    }

    @Test("isn't ended by another own user's consent")
    func anotherConsent() async throws {
        _ = try await deny()
        let engage = bench.engage()
        try await engage.profile.storeMobileUserID("ben")
        try await engage.profile.grantConsent()
        try await engage.profile.clear()
        #expect(engage.profile.isConsentDenied)
    }

    @Test("is remembered once for each user, however often they deny, and lets no campaign of theirs be stored")
    func repeated() async throws {
        let id = try await deny()
        let engage = bench.engage()
        let client = try await bench.client(engage)
        for _ in 0..<3 {
            try await engage.profile.storeMobileUserID(id)
            try await client.session(for: User(id: id)).setConsent(.denied)
        }
        #expect(engage.profile.record.denials.count == 1)
        let tracker = engage.tracker(for: client.session(for: User(id: id)), of: client)
        await isDenied { try await tracker.storeCampaign("Summer") }
        #expect(engage.profile.record.campaigns.entries == [])
    }

    @Test("ends for campaigns as soon as the session learns of consent, even without a network")
    func campaignAfterConsent() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        try await engage.profile.storeMobileUserID("ada")
        let session = client.session(for: User(id: "ada"))
        let tracker = engage.tracker(for: session, of: client)
        try await session.setConsent(.denied)
        await isDenied { try await tracker.storeCampaign("Spring") }
        try await session.setConsent(.granted)
        try await tracker.storeCampaign("Summer")
        #expect(tracker.currentCampaign == "Summer")
    }

    @Test("keeps the user's records in the vendor's SDK from bringing them back")
    func takeOver() async throws {
        _ = try await deny()
        let engage = bench.engage()
        let records = EngageSDKRecords(mobileUserID: "M", recipientID: "7", campaign: "Spring", isInstalled: true)
        #expect(try await engage.takeOver(records))
        #expect([engage.profile.mobileUserID, engage.profile.recipientID] == ["", ""])
        #expect(engage.profile.record.isInstalled && engage.profile.record.campaigns.entries == [])
    }
}
