import Experimentation
import ExperimentationTesting
import Foundation
import Testing
import Waiting

@testable import EngageAdapter

@Suite("Sessions, campaigns, notifications and links")
struct TrackerTests {
    let bench = EngageWorkbench()

    private func start() async throws -> (ExperimentationClient, BehaviorTracker, UserSession) {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let setup = try await engage.mobileIdentity.setupRecipient()
        let session = client.session(for: User(id: setup.mobileUserID))
        return (client, engage.tracker(for: session), session)
    }

    private func codes(_ client: ExperimentationClient) async throws -> [String] {
        try await client.flush()
        return try await bench.behaviors().map(\.code)
    }

    @Test("E71 four minutes in the background end nothing, six end the session; background time doesn't count")
    func session() async throws {
        let (client, tracker, _) = try await start()
        try await tracker.launch()
        bench.time.advance(by: .seconds(100))
        try await tracker.setApplicationState(.background)
        bench.time.advance(by: .seconds(240))
        try await tracker.setApplicationState(.foreground)
        #expect(try await codes(client) == ["12", "13"])
        bench.time.advance(by: .seconds(50))
        let left = bench.time.now
        try await tracker.setApplicationState(.background)
        try await tracker.setApplicationState(.background)
        bench.time.advance(by: .seconds(360))
        try await tracker.setApplicationState(.foreground)
        #expect(try await codes(client) == ["12", "13", "14", "13"])
        let end = try #require(try await bench.behaviors().first { $0.code == "14" })
        #expect(end["Session Duration"] == "150")
        #expect(end.timestamp == EngageTimestamp.behavior(left))
    }

    /// Accepts events when the gate opens.
    private struct GatedOutbox: OutboxStoreDecorator {
        let base: any OutboxStore
        let gate = AsyncGate()

        func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
            await gate.wait()
            return try await base.append(events, now: now)
        }
    }

    @Test("of two launches at once, as by two scenes, one reports the installation")
    func launchesAtOnce() async throws {
        let engage = bench.engage()
        let outbox = GatedOutbox(base: bench.store.outbox)
        let client = try await bench.client(engage, store: ClientStore(outbox: outbox, state: bench.store.state))
        let tracker = engage.tracker(for: client.session(for: User(id: "u")))
        let first = Task { try await tracker.launch() }
        try await eventually("the installation on its way to the store") { outbox.gate.waiting == 1 }
        let isSecondBegun = AsyncGate()
        let second = Task {
            isSecondBegun.open()
            try await tracker.launch()
        }
        await isSecondBegun.wait()
        try await eventually("the second launch in line") { engage.sessions.waiting == 1 }
        let begun = bench.time.now
        bench.time.advance(by: .seconds(20))
        outbox.gate.open()
        try await first.value
        try await second.value
        #expect(try await codes(client) == ["12", "13", "13"])
        let moments = Set(try await bench.behaviors().map(\.timestamp))
        #expect(moments == [EngageTimestamp.behavior(begun)], "when they began")
    }

    @Test("a session that wasn't ended is ended by the next launch")
    func pendingEnd() async throws {
        let (first, tracker, _) = try await start()
        try await tracker.launch()
        bench.time.advance(by: .seconds(30))
        try await tracker.setApplicationState(.background)
        try await first.flush()
        bench.time.advance(by: .seconds(1000))
        let (client, next, _) = try await start()
        try await next.launch()
        #expect(try await codes(client) == ["12", "13", "14", "13"])
    }

    @Test("the end of a session that couldn't be tracked is tracked later, once")
    func failedEnd() async throws {
        let (first, tracker, _) = try await start()
        try await tracker.launch()
        bench.time.advance(by: .seconds(30))
        try await tracker.setApplicationState(.background)
        try await first.flush()
        await first.shutdown(within: .zero)
        bench.time.advance(by: .seconds(1000))
        let error = await #expect(throws: ExperimentationError.self) {
            try await tracker.setApplicationState(.foreground)
        }
        #expect(error?.code == .shutDown)
        let (client, next, _) = try await start()
        try await next.launch()
        #expect(try await codes(client) == ["12", "13", "14", "13"])
        let end = try #require(try await bench.behaviors().first { $0.code == "14" })
        #expect(end["Session Duration"] == "30")
    }

    @Test("a session before a denial isn't tracked after another grant, whoever the installation's user is")
    func deniedSession() async throws {
        let (client, own, _) = try await start()
        let session = client.session(for: User(id: "another"))
        let tracker = own.engage.tracker(for: session)
        try await tracker.launch()
        bench.time.advance(by: .seconds(30))
        try await tracker.setApplicationState(.background)
        #expect(try await codes(client) == ["12", "13"])
        try await session.setConsent(.denied)
        bench.time.advance(by: .seconds(1000))
        let error = await #expect(throws: ExperimentationError.self) {
            try await tracker.setApplicationState(.foreground)
        }
        #expect(error?.code == .consentDenied)
        try await session.setConsent(.granted)
        try await tracker.setApplicationState(.foreground)
        #expect(try await codes(client) == ["12", "13", "13"])
    }

    @Test("time before a denial counts in no later session, though consent is given again at once")
    func changedMind() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let session = client.session(for: User(id: "u"))
        let tracker = engage.tracker(for: session)
        try await tracker.launch()
        #expect(try await codes(client) == ["12", "13"])
        bench.time.advance(by: .seconds(100))
        try await session.setConsent(.denied)
        try await session.setConsent(.granted)
        try await tracker.setApplicationState(.background)
        bench.time.advance(by: .seconds(1000))
        try await tracker.setApplicationState(.foreground)
        bench.time.advance(by: .seconds(5))
        try await tracker.setApplicationState(.background)
        bench.time.advance(by: .seconds(1000))
        try await tracker.setApplicationState(.foreground)
        #expect(try await codes(client) == ["12", "13", "13", "14", "13"])
        #expect(try await bench.behaviors().compactMap { $0["Session Duration"] } == ["5"])
    }

    @Test("a denial of the installation's user doesn't end another present user's session")
    func otherUser() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        try await engage.profile.storeMobileUserID("own")
        try await engage.tracker(for: client.session(for: User(id: "ben"))).launch()
        let session = engage.profile.record.session
        try await client.session(for: User(id: "own")).setConsent(.denied)
        #expect(engage.profile.mobileUserID == "")
        #expect(engage.profile.record.session == session)
    }

    @Test(
        "E72 a fresh install offline is tracked with a session, in this order and with both ids, once there is a network",
        arguments: [true, false]
    )
    func installation(recipientIsAddedByHand: Bool) async throws {
        let engage = bench.engage { $0.networking.patience = .zero }
        let client = try await bench.client(engage)
        await client.setConnectivity(.offline)
        bench.plan(.lostBefore, on: "*")
        let id = try await engage.mobileIdentity.prepareRecipient()
        #expect(bench.operations.isEmpty && engage.profile.mobileUserID == id)
        let tracker = engage.tracker(for: client.session(for: User(id: id)))
        try await tracker.launch()
        if recipientIsAddedByHand {
            await #expect(throws: ExperimentationError.self) { try await engage.mobileIdentity.setupRecipient() }
            bench.time.advance(by: .seconds(60))
        }
        bench.forgetPlans()
        bench.forgetExchanges()
        await client.setConnectivity(.online)
        #expect(try await codes(client) == ["12", "13"])
        // After a lost answer, the adapter searches for the recipient before it adds one.
        let search = recipientIsAddedByHand ? ["SelectRecipientData"] : []
        #expect(bench.operations == ["token"] + search + ["AddRecipient", "events"])
        for behavior in try await bench.behaviors() {
            #expect([behavior["Recipient Id"], behavior["Primary User Id"]] == ["100000", id])
        }
        let (again, next, _) = try await start()
        try await next.launch()
        #expect(try await codes(again) == ["12", "13", "13"])
        #expect(try await bench.recipients().count == 1)
    }

    /// Answers of the XML interface that make no recipient.
    private static let refusals: [(name: String, mishap: EngageWorkbench.Mishap)] = [
        ("a fault", .status(200, body: fault, type: "text/xml")), ("400", .status(400)), ("403", .status(403)),
        ("404", .status(404)),
        (
            "no id",
            .status(
                200,
                body: "<Envelope><Body><RESULT><SUCCESS>TRUE</SUCCESS><RecipientId/></RESULT></Body></Envelope>",
                type: "text/xml"
            )
        ),
    ]

    private static let fault =
        "<Envelope><Body><RESULT><SUCCESS>false</SUCCESS></RESULT><Fault><detail><error><errorid>161</errorid></error>"
        + "</detail></Fault></Body></Envelope>"

    @Test("a recipient that the vendor rejects doesn't keep behaviours from being posted", arguments: refusals)
    func refusedRecipient(name: String, mishap: EngageWorkbench.Mishap) async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let id = try await engage.mobileIdentity.prepareRecipient()
        bench.plan(mishap, on: "AddRecipient", times: 9)
        try await client.session(for: User(id: id)).track(.custom("seen"))
        try await client.session(for: User(id: "another")).track(.custom("seen"))
        try await client.flush()
        let posted = try await bench.behaviors().map { [$0["Primary User Id"], $0["Recipient Id"]] }
        #expect(posted == [[id, ""], ["another", ""]])
    }

    @Test("behaviours wait for a recipient while the vendor is unavailable")
    func unaskedRecipient() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let id = try await engage.mobileIdentity.prepareRecipient()
        bench.plan(.status(503), on: "AddRecipient", times: 9)
        try await client.session(for: User(id: id)).track(.custom("seen"))
        try await client.flush(retrying: false)
        #expect(try await bench.behaviors().map { $0["Primary User Id"] } == [])
        #expect(try await client.ledger() == Ledger(accepted: 1, pending: 1))
    }

    @Test("if no id may be generated, no recipient is prepared")
    func unprepared() async throws {
        let engage = bench.engage { $0.recipients.autoAnonymous = false }
        await #expect(throws: ExperimentationError.self) { try await engage.mobileIdentity.prepareRecipient() }
        try await engage.profile.storeMobileUserID("own")
        #expect(try await engage.mobileIdentity.prepareRecipient() == "own")
    }

    @Test("one call on the way to the background pauses the session and posts waiting events")
    func background() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let session = client.session(for: User(id: "u"))
        let tracker = engage.tracker(for: session, of: client)
        try await session.track(.custom("A"))
        try await tracker.setApplicationState(.background)
        #expect(try await bench.behaviors().map { $0["Event Name"] } == ["A"])
    }

    @Test("E73 a campaign nested in a push applies to its event and later ones, not to earlier ones")
    func push() async throws {
        let (client, tracker, session) = try await start()
        try await session.track(.custom("before"))
        bench.time.advance(by: .seconds(1))
        try await tracker.handlePushReceived(["aps": ["alert": "Hi", "data": ["CurrentCampaign": "Spring"]]])
        bench.time.advance(by: .seconds(1))
        try await session.track(.custom("after"))
        try await client.flush()
        #expect(try await bench.behaviors().map { $0["Campaign Name"] } == ["", "Spring", "Spring"])
    }

    @Test("the system's notification payload is accepted unchanged, from the main actor too")
    @MainActor
    func userInfo() async throws {
        let (client, tracker, _) = try await start()
        let userInfo: [AnyHashable: Any] = [
            "aps": ["alert": ["body": "Hi"]] as [String: Any], "CurrentCampaign": "Spring",
            "sent": Date(timeIntervalSince1970: 0),
        ]
        try await tracker.handlePushReceived(userInfo: userInfo)
        try await tracker.handleNotificationOpened(userInfo: userInfo, attributes: ["extra": 1])
        try await client.flush()
        let behaviors = try await bench.behaviors()
        #expect(behaviors.map(\.code) == ["48", "49"])
        for behavior in behaviors {
            #expect(behavior["Displayed Message"] == "Hi" && behavior["Campaign Name"] == "Spring")
        }
        #expect(behaviors.map { $0["extra"] } == [nil, "1"])
    }

    @Test("a local notification is tracked with its text, the caller's attributes and its campaign")
    func localNotification() async throws {
        let (client, tracker, _) = try await start()
        try await tracker.handleLocalNotificationReceived(
            NotificationContent(message: "Hi", callToAction: "Open", payload: ["CurrentCampaign": "Spring"]),
            attributes: ["extra": 1]
        )
        try await client.flush()
        let behavior = try #require(try await bench.behaviors().first)
        #expect(behavior.code == "48" && behavior["Displayed Message"] == "Hi" && behavior["Call To Action"] == "Open")
        #expect(behavior["Campaign Name"] == "Spring" && behavior["extra"] == "1")
        #expect(tracker.currentCampaign == "Spring")
    }

    @Test("after a denial no campaign is kept, neither of a notification nor by hand")
    func refusedPush() async throws {
        let (_, tracker, session) = try await start()
        try await session.setConsent(.denied)
        let error = await #expect(throws: ExperimentationError.self) {
            try await tracker.handlePushReceived(["CurrentCampaign": "Spring"])
        }
        #expect(error?.code == .consentDenied)
        let storing = await #expect(throws: ExperimentationError.self) { try await tracker.storeCampaign("Summer") }
        #expect(storing?.code == .consentDenied)
        #expect(tracker.engage.profile.record.campaigns.entries == [])
    }

    @Test("a campaign that only the attributes of a notification name is found, and one of another event isn't")
    func campaignInAttributes() {
        let translation = EngageTranslation(EngageWorkbench.configuration())
        let attributes: Attributes = ["CurrentCampaign": "Spring"]
        let kinds: [TrackingEvent.Kind] = [.notificationOpened(NotificationContent()), .sessionStarted, .installed]
        let names = kinds.map { kind in
            translation.campaign(of: TrackingEvent(kind, attributes: attributes), at: bench.time.now, to: "u")?.name
        }
        #expect(names == ["Spring", "Spring", nil])
    }

    @Test("the client's own notification events set campaigns as well")
    func neutralPush() async throws {
        let (client, _, session) = try await start()
        try await session.track(
            .notificationOpened(NotificationContent(payload: ["CurrentCampaign": "Spring", "CallToAction": "Buy"]))
        )
        try await client.flush()
        let behavior = try #require(try await bench.behaviors().first)
        #expect(behavior.code == "49" && behavior["Campaign Name"] == "Spring" && behavior["Call To Action"] == "Buy")
    }

    private func campaign(_ tracker: BehaviorTracker, after seconds: Int) -> String {
        bench.time.advance(by: .seconds(seconds))
        return tracker.currentCampaign
    }

    @Test("E74 a campaign for a quarter of an hour has ended after sixteen minutes, and is still the last")
    func validFor() async throws {
        let (client, tracker, session) = try await start()
        try await tracker.handlePushReceived(["CurrentCampaign": "Spring", "CampaignValidFor": "15m"])
        #expect(campaign(tracker, after: 900) == "Spring")
        #expect(campaign(tracker, after: 60) == "")
        #expect(tracker.lastCampaign == "Spring")
        try await session.track(.custom("x"))
        try await session.track(.installed)
        try await client.flush()
        #expect(try await bench.behaviors()[1]["Campaign Name"] == "")
        #expect(try await bench.behaviors()[2]["Last Campaign"] == "Spring")
    }

    @Test("E75 of both kinds of end, the date wins")
    func expiresAt() async throws {
        let (_, tracker, _) = try await start()
        try await tracker.handlePushReceived([
            "CurrentCampaign": "Spring", "CampaignValidFor": "15m", "CampaignExpiresAt": "2015/02/03 22:46:40",
            "CampaignEndTimeStamp": 1,
        ])
        #expect(campaign(tracker, after: 3600) == "Spring")
        #expect(campaign(tracker, after: 1) == "")
    }

    @Test("without an end a campaign lasts a day")
    func defaultLife() async throws {
        let (_, tracker, _) = try await start()
        try await tracker.storeCampaign("Spring")
        #expect(campaign(tracker, after: 86_400) == "Spring")
        #expect(campaign(tracker, after: 1) == "")
    }

    @Test("E76 after a restart the same end applies, and a session doesn't change it")
    func restart() async throws {
        let (_, tracker, _) = try await start()
        try await tracker.handlePushReceived(["CurrentCampaign": "Spring", "CampaignValidFor": "1h"])
        bench.time.advance(by: .seconds(1800))
        let (_, next, _) = try await start()
        try await next.launch()
        #expect(next.currentCampaign == "Spring")
        #expect(campaign(next, after: 1801) == "")
    }

    @Test(
        "E77 a campaign that ended in 1970 never applies",
        arguments: [
            ("App://campaign/Spring?CampaignEndTimeStamp=30931200", ""),
            ("App://campaign/Spring?CampaignEndTimeStamp=1423100000", "Spring"),
            ("App://campaign/Spring?CampaignEndTimeStamp=soon", ""), ("App://campaign/Spring", "Spring"),
        ]
    )
    func endTimestamp(link: String, name: String) async throws {
        let (client, tracker, _) = try await start()
        try await tracker.handleExternalURLOpened(link, routes: try routes())
        #expect(tracker.currentCampaign == name && tracker.lastCampaign == "Spring")
        try await client.flush()
        let behavior = try #require(try await bench.behaviors().first)
        #expect(behavior.code == "13" && behavior["Campaign Name"] == name && behavior["CurrentCampaign"] == "Spring")
    }

    @Test("a campaign stored by hand with an invalid end has ended")
    func byHand() async throws {
        let (_, tracker, _) = try await start()
        try await tracker.storeCampaign("A", endTimestamp: "x")
        #expect(tracker.currentCampaign == "" && tracker.lastCampaign == "A")
        try await tracker.storeCampaign("B", until: "1 hr")
        #expect(tracker.currentCampaign == "B")
    }

    private func routes() throws -> DeepLinkRoutes {
        try DeepLinkRoutes(json: Array(Self.file.utf8), file: "MobileDeepLinkingConfig.json")
    }

    static let file = #"""
        {"logging":"true","defaultRoute":{"handlers":["postSilverpop"]},
         "routes":{"campaign/:CurrentCampaign":{"handlers":["postSilverpop"],"routeParameters":{
            "CurrentCampaign":{"required":"true"},"CampaignEndTimeStamp":{"required":"false"}}},
          "test/:testId":{"handlers":["postSilverpop"],"routeParameters":{
            "testId":{"required":"true","regex":"[0-9]"},"utmSource":{"required":"false"}}},
          "/slash/:a":{"handlers":["postSilverpop","mine"]},
          "evil/:x":{"handlers":["postSilverpop"],"routeParameters":{"x":{"regex":"^(a+)+$"}}}}}
        """#

    @Test(
        "E78 a pattern must match once",
        arguments: [
            ("App://test/5", "test/:testId"), ("App://test/a5", "test/:testId"), ("App://test/55", nil),
            ("App://test/", nil), ("App://slash/1", "/slash/:a"),
            ("App://campaign/Spring/more", "campaign/:CurrentCampaign"),
            ("App://CAMPAIGN/Spring", nil), ("App://nobody", nil), ("", nil),
        ]
    )
    func pattern(link: String, route: String?) throws {
        #expect(try routes().match(DeepLink(link)).route == route)
    }

    @Test("E79 the query takes precedence over the path, and nothing leaks into the next link")
    func query() async throws {
        let (_, tracker, _) = try await start()
        let first = try await tracker.handleExternalURLOpened(
            "App://test/5?testId=7&utmSource=a%20b&x",
            routes: routes()
        )
        #expect(first.parameters == ["testId": "7", "utmSource": "a b"])
        let second = try await tracker.handleExternalURLOpened("App://nobody?y=1=2&%zz=3", routes: routes())
        #expect(second.parameters == ["y": "1=2", "%zz": "3"])
        #expect(try await tracker.handleExternalURLOpened("App://test/5?a=1").parameters == ["a": "1"])
    }

    @Test("a link that opened the application gives the id under which its event is found")
    func linkID() async throws {
        let (client, tracker, _) = try await start()
        let link = try await tracker.handleExternalURLOpened("App://test/5?a=1&b=2")
        #expect([link["a"], link["b"], link["c"]] == ["1", "2", nil])
        let event = try await Engage(of: client).eventStore(of: client).event(id: link.eventID)
        #expect(
            event == EngageEvent(id: link.eventID, type: .sessionStarted, date: bench.time.now, state: .notPosted)
        )
    }

    @Test("the application's handlers run with the values that the route captured")
    func handlers() async throws {
        let (_, tracker, _) = try await start()
        await confirmation { confirmed in
            _ = try? await tracker.handleExternalURLOpened(
                "App://slash/1",
                routes: try? routes(),
                handlers: ["mine": { if $0 == ["a": "1"] { confirmed() } }, "other": { _ in confirmed() }]
            )
        }
    }

    @Test("no pattern can hang the process")
    func evilPattern() throws {
        let link = DeepLink("App://evil/" + String(repeating: "a", count: 4_000) + "!")
        #expect(try routes().match(link).route == nil)
    }

    @Test(
        "an unsupported pattern is rejected with its position",
        arguments: [
            "(a", "a)", "[a", "*a", "a{3,1}", "(?=a)", "\\1", "[z-a]", "a{1000}{1000}", "a++", "\\", "a{x}",
            String(repeating: "(", count: 60), String(repeating: "a", count: 501),
        ]
    )
    func refused(pattern: String) {
        let file = ["routes": ["r/:p": ["routeParameters": ["p": ["regex": pattern]]]]]
        let error = #expect(throws: ExperimentationError.self) {
            _ = try DeepLinkRoutes(json: Array(try JSONEncoder().encode(file)), file: "links.json")
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.hasPrefix("links.json: routes[\"r/:p\"].routeParameters.p.regex: ") == true)
    }

    @Test(
        "an unreadable route file is rejected with the position",
        arguments: [
            ("", "the file"), ("[]", "the file"), (#"{"routes":[]}"#, "routes"),
            (#"{"routes":{"a":1}}"#, "routes[\"a\"]"),
            (#"{"routes":{"a":{"handlers":"x"}}}"#, "routes[\"a\"].handlers"), (#"{"routes":{"":{}}}"#, "routes[\"\"]"),
        ]
    )
    func unreadable(text: String, place: String) {
        let error = #expect(throws: ExperimentationError.self) {
            _ = try DeepLinkRoutes(json: Array(text.utf8), file: "links.json")
        }
        #expect(error?.message.hasPrefix("links.json: \(place): ") == true)
    }

    @Test(
        "E80 the content of a push is tracked",
        arguments: [
            (["aps": ["alert": "Hi"]], "Hi"), (["aps": ["alert": ["body": "Body", "title": "T"]]], "Body"),
            (["aps": [:]], ""), ([:], ""), (["aps": ["alert": 5]], ""),
        ] as [([String: FlagValue], String)]
    )
    func displayed(payload: [String: FlagValue], text: String) async throws {
        let (client, tracker, _) = try await start()
        try await tracker.handleNotificationOpened(payload, attributes: ["extra": 1])
        try await client.flush()
        let behavior = try #require(try await bench.behaviors().first)
        #expect(behavior["Displayed Message"] == text && behavior["extra"] == "1")
    }
}
