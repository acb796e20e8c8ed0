import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import EvergageAdapter

@Suite("Statistics of campaigns")
@MainActor
struct StatTests {
    static func campaign(control: Bool = false) -> Campaign {
        Campaign(
            id: "c9",
            target: "T",
            experience: Variation(id: "xp7Qa", isControl: control),
            promotedItems: ["Product": ["sku-11", "sku-12"], "Brand": ["Acme"]],
            isControlGroup: control
        )
    }

    private func stats(of app: App) -> [FlagValue?] { app.transport.events.map { $0["campaignStats"] } }

    @Test("V38 an impression names the experience and the promoted items by type")
    func impression() async throws {
        let app = try await App()
        try app.global.trackImpression(Self.campaign())
        await app.settle()
        let expected: FlagValue = [
            [
                "experienceId": "xp7Qa", "stat": "Impression", "control": false,
                "catalog": ["Product": ["sku-11", "sku-12"], "Brand": ["Acme"]],
            ]
        ]
        #expect(stats(of: app) == [expected])
    }

    @Test("V39 an impression of the control group is marked")
    func control() async throws {
        let app = try await App()
        try app.global.trackImpression(Self.campaign(control: true))
        await app.settle()
        #expect(stats(of: app).map { $0?.arrayValue?.first?["control"] } == [true])
    }

    @Test("V40 a clickthrough is a Click, a dismissal a Dismissal")
    func names() async throws {
        let app = try await App()
        try app.global.trackClickthrough(Self.campaign())
        try app.global.trackDismissal(Self.campaign())
        await app.settle()
        #expect(stats(of: app).map { $0?.arrayValue?.first?["stat"] } == ["Click", "Dismissal"])
    }

    @Test("V41 every call is sent; the vendor counts distinct ones")
    func twice() async throws {
        let app = try await App()
        try app.global.trackImpression(Self.campaign())
        try app.global.trackImpression(Self.campaign())
        await app.settle()
        #expect(await app.user("anon-1")?["stats"]?.arrayValue?.count == 2)
        #expect(await app.user("anon-1")?["distinctStats"] == 1)
    }

    @Test("V42 a statistic has no action and no attributes, and neither requests nor brings campaigns")
    func quiet() async throws {
        let app = try await App(
            campaigns: #"{"campaignId":"any","experienceId":"x","target":"T","actions":[]}"#
        )
        let shown = Shown()
        try app.global.setCampaignHandler(forTarget: "T", shown.handler)
        app.evergage.setUserAttribute("gold", forName: "tier")
        try app.global.trackImpression(Self.campaign())
        await app.settle()
        let event = try #require(app.transport.events.first)
        #expect(event["action"] == nil)
        #expect(event["itemAction"] == nil)
        #expect(event["flags"] == ["noCampaigns": true])
        #expect(event["user"] == ["anonId": "anon-1"])
        #expect(shown.ids == [])
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.transport.events.last?["user"]?["attributes"] == ["tier": "gold"])
    }

    @Test("changed attributes of the session are sent with the next action, not with a statistic")
    func changedAttributes() async throws {
        let app = try await App()
        try #require(app.evergage.session).update(["tier": "gold"])
        try app.global.trackImpression(Self.campaign())
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.transport.events.map { $0["user"]?["attributes"] } == [nil, ["tier": "gold"]])
    }

    @Test("changed attributes wait beyond neutral statistics as well")
    func changedAttributesBeyondNeutral() async throws {
        let app = try await App()
        let session = try #require(app.evergage.session)
        try session.update(["tier": "gold"])
        for event in Self.neutral { try await session.track(event) }
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.transport.events.map { $0["user"]?["attributes"] } == [nil, nil, nil, nil, ["tier": "gold"]])
    }

    @Test("a statistic of a user without a session is sent without the user's attributes")
    func withoutSession() async throws {
        let bench = try await Bench()
        let user = User(id: "u-77", attributes: ["tier": "gold"])
        for event in Self.neutral { try await bench.client.track(event, for: user) }
        try await bench.client.track(.custom("A"), for: user)
        try await bench.client.flush()
        #expect(
            bench.transport.events.map { $0["user"] }
                == Array(repeating: ["id": "u-77"], count: 4) + [["id": "u-77", "attributes": ["tier": "gold"]]]
        )
    }

    /// The neutral events that are statistics to the vendor.
    private static var neutral: [TrackingEvent] {
        [
            .campaignImpression(campaign()), .campaignDismissal(campaign()), .campaignClick(campaign()),
            .notificationOpened(NotificationContent(payload: ["evg": ["experienceId": "xp7Qa"]])),
        ]
    }

    @Test("V43 a click on a notification names its experience and what was clicked")
    func notification() async throws {
        let app = try await App()
        let notification: [String: FlagValue] = [
            "aps": ["alert": "Hi"],
            "evg": ["experienceId": "xp7Qa", "campaignId": "c9", "messageId": "m1", "control": false],
        ]
        try app.global.trackClickthrough(notification: notification, actionIdentifier: "OPEN")
        try app.global.trackClickthrough(notification: notification)
        await app.settle()
        #expect(stats(of: app).map { $0?.arrayValue?.first?["experienceId"] } == ["xp7Qa", "xp7Qa"])
        #expect(stats(of: app).map { $0?.arrayValue?.first?["stat"] } == ["Click", "Click"])
        #expect(app.transport.events.map { $0["notification"] } == [["actionIdentifier": "OPEN"], nil])
    }

    @Test("a click on a notification says whether it is the control group's", arguments: [true, false, nil] as [Bool?])
    func controlNotification(isControl: Bool?) async throws {
        let app = try await App()
        var part: [String: FlagValue] = ["experienceId": "xp7Qa"]
        part["control"] = isControl.map(FlagValue.bool)
        try app.global.trackClickthrough(notification: ["evg": .object(part)])
        await app.settle()
        #expect(stats(of: app).map { $0?.arrayValue?.first?["control"] } == [.bool(isControl ?? false)])
    }

    @Test("promoted items have the vendor's names of their types, whichever code they came with")
    func promotedTypes() async throws {
        let keys = ["P", "p", "a", "b", "c", "Product", "other"].map { #"{"type":"\#($0)","_id":"\#($0)-1"}"# }
        let app = try await App(
            campaigns: """
                {"campaignId":"c","experienceId":"x","target":"T","actions":["A"],
                 "promotedItemKeys":[\(keys.joined(separator: ",")),{"type":"t","_id":"t-1"}]}
                """
        )
        let shown = Shown()
        try app.global.setCampaignHandler(forTarget: "T", shown.handler)
        try app.global.trackAction("A")
        await app.settle()
        try app.global.trackImpression(shown.campaigns.first)
        await app.settle()
        let expected: FlagValue = [
            "Promotion": ["P-1"], "Product": ["p-1", "Product-1"], "Article": ["a-1"], "Blog": ["b-1"],
            "Category": ["c-1"], "other": ["other-1"], "Tag": ["t-1"],
        ]
        #expect(stats(of: app).last??.arrayValue?.first?["catalog"] == expected)
    }

    @Test("the system's notification payload is accepted unchanged")
    func userInfo() async throws {
        let app = try await App()
        let userInfo: [AnyHashable: Any] = [
            "evg": ["experienceId": "xp7Qa"] as [String: Any], "sent": Date(timeIntervalSince1970: 0),
        ]
        try app.global.trackClickthrough(userInfo: userInfo, actionIdentifier: "OPEN")
        await app.settle()
        #expect(stats(of: app).map { $0?.arrayValue?.first?["experienceId"] } == ["xp7Qa"])
    }

    @Test("V44 other senders' notifications and dismissals aren't tracked")
    func foreignNotification() async throws {
        let app = try await App()
        try app.global.trackClickthrough(notification: ["aps": [:]], actionIdentifier: "OPEN")
        try app.global.trackClickthrough(notification: nil)
        try app.global.trackClickthrough(notification: ["evg": ["experienceId": "  "]])
        try app.global.trackClickthrough(
            notification: ["evg": ["experienceId": "xp7Qa"]],
            actionIdentifier: "com.apple.UNNotificationDismissActionIdentifier"
        )
        await app.settle()
        #expect(app.transport.sent.isEmpty)
    }

    @Test("V45 a statistic is sent from an invisible screen as well")
    func invisible() async throws {
        let app = try await App()
        let never = try #require(app.evergage.makeScreen())
        #expect(!never.isActive)
        never.trackImpression(Self.campaign())
        let gone = try app.shownScreen()
        gone.willDisappear()
        #expect(!gone.isActive)
        gone.trackClickthrough(Self.campaign())
        let behind = try app.shownScreen()
        app.evergage.setApplicationState(.background)
        #expect(!behind.isActive)
        behind.trackDismissal(Self.campaign())
        await app.settle()
        let told = stats(of: app).map { $0?.arrayValue?.first?["stat"]?.stringValue }
        #expect(told == ["Impression", "Click", "Dismissal"])
    }

    @Test("without a campaign, or an experience in it, nothing is tracked")
    func nothing() async throws {
        let app = try await App()
        try app.global.trackImpression(nil)
        try app.global.trackDismissal(Campaign(id: "c", target: "T", experience: Variation(id: " ")))
        await app.settle()
        #expect(app.transport.sent.isEmpty)
        #expect(app.complaints(.warning).count == 2)
    }

    @Test("campaigns are equal if and only if all nine of their fields are")
    func equality() {
        let campaign = Self.campaign()
        var others: [Campaign] = Array(repeating: campaign, count: 9)
        others[0].id = "other"
        others[1].name = "other"
        others[2].experience.id = "other"
        others[3].experience.name = "other"
        others[4].messageID = "other"
        others[5].target = "other"
        others[6].content = ["other": 1]
        others[7].promotedItems = [:]
        others[8].isControlGroup = true
        #expect(campaign == Self.campaign())
        #expect(others.allSatisfy { $0 != campaign })
    }
}
