import Experimentation
import ExperimentationTesting
import Testing

@testable import EngageAdapter

@Suite("A denial in another session of the user")
struct OtherSessionDenialTests {
    private let bench = EngageWorkbench()

    /// Opens two sessions of the installation's user, who has consented, and denies consent in the first.
    private func deny(in engage: Engage) async throws -> (denied: UserSession, other: UserSession) {
        let client = try await bench.client(engage)
        let id = try await engage.mobileIdentity.setupRecipient().mobileUserID
        let sessions = (0..<2).map { _ in client.session(for: User(id: id, consent: .granted)) }
        try await sessions[0].setConsent(.denied)
        bench.forgetExchanges()
        return (sessions[0], sessions[1])
    }

    private func isDenied(_ call: () async throws -> Void) async {
        let error = await #expect(throws: ExperimentationError.self) { try await call() }
        #expect(error?.code == .consentDenied)
    }

    @Test("isn't ended by a check of the identity: the vendor gets no request")
    func check() async throws {
        let engage = bench.engage()
        let (_, other) = try await deny(in: engage)
        await isDenied { try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"], for: other) }
        #expect(bench.operations == [])
        #expect(engage.profile.isConsentDenied)
    }

    @Test("lets no campaign be stored")
    func campaign() async throws {
        let engage = bench.engage()
        let (_, other) = try await deny(in: engage)
        await isDenied { try await engage.tracker(for: other).storeCampaign("Spring") }
        #expect(engage.profile.record.campaigns.entries == [])
    }

    @Test("ends when the user consents again, in either session", arguments: [true, false])
    func consent(inTheSame: Bool) async throws {
        let engage = bench.engage()
        let (denied, other) = try await deny(in: engage)
        try await (inTheSame ? denied : other).setConsent(.granted)
        try await engage.tracker(for: other).storeCampaign("Spring")
        try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"], for: other)
        #expect(!engage.profile.isConsentDenied)
    }
}
