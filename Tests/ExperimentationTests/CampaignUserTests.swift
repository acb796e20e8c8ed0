import ExperimentationTesting
import Foundation
import Testing

@testable import Experimentation

@Suite("Campaigns belong to their user")
struct CampaignUserTests {
    static let hero = Campaign(id: "c", target: "hero", experience: Variation(id: "x"))

    private static func event(_ id: String, of user: String) -> Envelope {
        Envelope(
            id: id,
            identity: Identity(id: user),
            event: .custom("one"),
            date: Date(timeIntervalSince1970: 0)
        )
    }

    /// A session of ada, whose only event brings a campaign.
    private func opening() async throws -> (ExperimentationClient, UserSession) {
        let provider = InMemoryProvider(batching: BatchPolicy(count: 1))
        provider.setCampaigns { _ in [Self.hero] }
        let client = try await ExperimentationClient(
            provider: provider,
            environment: ClientEnvironment(time: ManualTime(), log: NoLog())
        )
        return (client, client.session(for: User(id: "ada", consent: .granted)))
    }

    /// What a session's user may do between an event and its campaign's handler.
    enum Turn: CaseIterable {
        case leaves, leavesAndReturns, denies, deniesAndConsents, isNamed, stays

        var keepsCampaigns: Bool { self == .isNamed || self == .stays }

        func happen(to session: UserSession) async throws {
            switch self {
            case .leaves: session.identify(Identity(id: "ben"))
            case .leavesAndReturns:
                session.identify(Identity(id: "ben"))
                session.identify(Identity(id: "ada"))
            case .denies: try await session.setConsent(.denied)
            case .deniesAndConsents:
                try await session.setConsent(.denied)
                try await session.setConsent(.granted)
            // The id is the same.
            case .isNamed: session.identify(Identity(id: "ada", anonymousID: "device", isAuthenticated: true))
            case .stays: session.identify(Identity(id: "ada"))
            }
        }
    }

    @Test("a held campaign is dropped when its user leaves or denies consent", arguments: Turn.allCases)
    func held(turn: Turn) async throws {
        let (client, session) = try await opening()
        try await session.track(.custom("one"))
        try await client.flush()
        #expect(session.heldCampaigns() == [Self.hero])
        try await turn.happen(to: session)
        #expect(session.heldCampaigns() == (turn.keepsCampaigns ? [Self.hero] : []))
    }

    @Test("a campaign that answers an event from before that is dropped as well", arguments: Turn.allCases)
    func inFlight(turn: Turn) async throws {
        let (client, session) = try await opening()
        await client.setConnectivity(.offline)
        let id = try await session.trackWithID(.custom("one"))
        try await turn.happen(to: session)
        session.receive([Self.hero], for: Self.event(id, of: "ada"))
        #expect(session.heldCampaigns() == (turn.keepsCampaigns ? [Self.hero] : []))
    }

    @Test(
        "a campaign for another user's event that the session no longer remembers is dropped",
        arguments: ["ada", "ben"]
    )
    func forgotten(id: String) async throws {
        let (_, session) = try await opening()
        session.receive([Self.hero], for: Self.event("forgotten", of: id))
        #expect(session.heldCampaigns() == (id == "ada" ? [Self.hero] : []))
    }

    @Test(
        "a campaign that answers such an event after thousands of later ones is dropped as well",
        arguments: Turn.allCases
    )
    func longBacklog(turn: Turn) async throws {
        let (client, session) = try await opening()
        await client.setConnectivity(.offline)
        for _ in 0..<(EventEpochs.most - 1) { try await session.track(.custom("earlier")) }
        let id = try await session.trackWithID(.custom("one"))
        // As many as are remembered in any case; two are the signals of consent.
        for _ in 1..<(EventEpochs.most / 2 - 2) { try await session.track(.custom("later")) }
        try await turn.happen(to: session)
        session.receive([Self.hero], for: Self.event(id, of: "ada"))
        #expect(session.heldCampaigns() == (turn.keepsCampaigns ? [Self.hero] : []))
    }

    @Test("while consent is denied, even a campaign for an event that the session no longer remembers is dropped")
    func forgottenBeforeDenial() async throws {
        let (_, session) = try await opening()
        try await session.setConsent(.denied)
        session.receive([Self.hero], for: Self.event("forgotten", of: "ada"))
        #expect(session.heldCampaigns() == [])
    }
}
