import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import EngageAdapter

@Suite("The user that a campaign belongs to")
struct CampaignOwnerTests {
    private let bench = EngageWorkbench()

    private static let spring = TrackingEvent(
        .notificationOpened(NotificationContent(payload: ["CurrentCampaign": "Spring"]))
    )

    private func posted(_ client: ExperimentationClient) async throws -> [[String?]] {
        try await client.flush()
        return try await bench.behaviors().map { [$0["Primary User Id"], $0["Campaign Name"]] }
    }

    @Test("a campaign of one user isn't another's, whoever is the installation's own", arguments: ["", "ada", "ben"])
    func two(own: String) async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        if !own.isEmpty { try await engage.profile.storeMobileUserID(own) }
        try await client.session(for: User(id: "ada")).track(Self.spring)
        try await client.session(for: User(id: "ben")).track(.goalCompleted("G"))
        try await client.session(for: User(id: "ada")).track(.goalCompleted("G"))
        #expect(try await posted(client) == [["ada", "Spring"], ["ben", ""], ["ada", "Spring"]])
    }

    @Test("a tracker returns the campaigns of its own user only")
    func trackers() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let (ada, ben) = (
            engage.tracker(for: client.session(for: User(id: "ada"))),
            engage.tracker(for: client.session(for: User(id: "ben")))
        )
        try await ada.handlePushReceived(["CurrentCampaign": "Spring"])
        try await ben.storeCampaign("Summer")
        #expect([ada, ben].map(\.currentCampaign) == ["Spring", "Summer"])
        #expect([ada, ben].map(\.lastCampaign) == ["Spring", "Summer"])
    }

    @Test("a campaign that was removed doesn't return with a waiting event")
    func cleared() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let session = client.session(for: User(id: "ada"))
        await client.setConnectivity(.offline)
        try await session.track(Self.spring)
        bench.time.advance(by: .seconds(1))
        try await engage.profile.clear()
        await client.setConnectivity(.online)
        #expect(try await posted(client).map(\.first) == ["ada"])
        #expect(engage.tracker(for: session).currentCampaign == "")
    }

    @Test("a merge leaves a user their campaigns, under both ids", arguments: [true, false])
    func merged(byLinking: Bool) async throws {
        _ = try await bench.addRecipient(["facebook_id": "100", "Mobile User Id": "EM"])
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let id = try await engage.mobileIdentity.setupRecipient().mobileUserID
        let session = client.session(for: User(id: id))
        try await engage.tracker(for: session).handlePushReceived(["CurrentCampaign": "Spring"])
        await client.setConnectivity(.offline)
        bench.time.advance(by: .seconds(1))
        try await session.track(.custom("before"))
        if byLinking {
            try await session.link(to: Identity(id: "x"), criteria: ["facebook_id": "100"])
        } else {
            try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"], for: session)
        }
        try await session.track(.custom("after"))
        await client.setConnectivity(.online)
        #expect(try await posted(client) == [[id, "Spring"], [id, "Spring"], ["EM", "Spring"]])
    }

    @Test(
        "a campaign without a user belongs to the installation's own user, or to any user if there is none",
        arguments: [("", ["Spring", "Spring"]), ("ada", ["Spring", ""]), ("ben", ["", "Spring"])]
    )
    func nobodys(own: String, expected: [String]) async throws {
        let engage = bench.engage()
        try await engage.profile.storeMobileUserID(own)
        // As earlier versions stored it, and the vendor's SDK.
        try await engage.profile.update {
            $0.campaigns.put(.init(name: "Spring", from: .distantPast, until: .distantFuture))
        }
        let record = engage.profile.record
        let names = ["ada", "ben"].map { record.campaigns(of: $0).current(at: bench.time.now) }
        #expect(names == expected)
    }

    @Test("a campaign without a user stays with the former own user when another comes")
    func former() {
        var record = EngageRecord()
        record.campaigns.put(.init(name: "Spring", from: .distantPast, until: .distantFuture))
        record.become("ada")
        record.become("ben")
        #expect(["ada", "ben"].map { record.campaigns(of: $0).last(at: bench.time.now) } == ["Spring", ""])
    }

    @Test("a denial removes only the user's own campaigns", arguments: ["ada", "ben"])
    func denied(own: String) async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        try await engage.profile.storeMobileUserID(own)
        for user in ["ada", "ben"] {
            try await engage.tracker(for: client.session(for: User(id: user))).storeCampaign("of \(user)")
        }
        try await client.session(for: User(id: "ada")).setConsent(.denied)
        #expect(engage.profile.record.campaigns.entries.map(\.name) == ["of ben"])
    }

    @Test("a campaign isn't kept out by a removal from before the clock was set back")
    func clockSetBack() {
        let now = bench.time.now
        var shelf = CampaignShelf(emptied: now)
        let entry = CampaignShelf.Entry(name: "Spring", from: now, until: .distantFuture, users: ["ada"])
        shelf.putLate(entry, at: now)
        #expect(shelf.entries == [])
        shelf.putLate(entry, at: now.addingTimeInterval(-1))
        #expect(shelf.entries == [entry])
    }

    @Test("campaigns stored by earlier versions are read")
    func earlierVersions() throws {
        let text = #"{"entries":[{"name":"Spring","from":0,"until":10}]}"#
        let shelf = try JSONDecoder().decode(CampaignShelf.self, from: Data(text.utf8))
        #expect(shelf.entries.map(\.name) == ["Spring"] && shelf.entries.map(\.users) == [[]])
    }
}
