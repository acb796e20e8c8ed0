import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import MockVendors
import Synchronization
import Testing
import Waiting

@testable import EvergageAdapter

@Suite("Start and identity")
@MainActor
struct StartTests {
    @Test("the shared instance is the one that the application sets, and others are independent")
    func sharedInstance() async throws {
        let (app, other) = (try await App(), try await App())
        #expect(Evergage.shared == nil)
        Evergage.shared = app.evergage
        defer { Evergage.shared = nil }
        Evergage.shared?.globalContext?.trackAction("A")
        try other.global.trackAction("B")
        await app.settle()
        await other.settle()
        #expect(app.actions == ["A"] && other.actions == ["B"])
    }

    @Test(
        "messages below the level aren't built, at each of the reference's levels",
        arguments: [
            (LogLevel.off, 0), (.error, 1), (.warning, 2), (.info, 3), (.debug, 3), (.trace, 3),
        ]
    )
    func logLevels(level: LogLevel, count: Int) async {
        let log = RecordingLog(level: level)
        let evergage = Evergage(store: .inMemory(), environment: ClientEnvironment(time: ManualTime(), log: log))
        // An error, a warning and an info message.
        evergage.start(try EvergageConfiguration(account: "", dataset: "engage"))
        evergage.userID = " "
        evergage.globalContext?.trackClickthrough(notification: ["aps": [:]], actionIdentifier: nil)
        let expected: [LogLevel] = [.error, .warning, .info]
        #expect(log.entries.map(\.level) == Array(expected.prefix(count)))
    }

    @Test("V01 calls before the start are sent after it")
    func beforeStart() async throws {
        let app = try await App(start: false)
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.actions == [])
        app.evergage.start(.test)
        await app.settle()
        #expect(app.actions == ["A"])
    }

    @Test("a screen that has gone before the start leaves nothing behind")
    func goneScreen() async throws {
        let app = try await App(start: false)
        let screen = try app.shownScreen("gone")
        screen.trackAction("A")
        screen.willDisappear()
        app.evergage.start(.test)
        await app.settle()
        #expect(app.actions == ["A"])
        #expect(!screen.isVisible)
        // The surface of the screen's next appearance.
        #expect(app.evergage.session?.surfaceCount == 1)
    }

    @Test("V01 the latest hundred calls are kept before the start")
    func preStartLimit() async throws {
        let app = try await App(start: false)
        for number in 1...101 { try app.global.trackAction("A\(number)") }
        app.evergage.start(.test)
        await app.settle()
        #expect(app.actions.count == 100)
        #expect(app.actions.first == "A2")
    }

    @Test(
        "attributes of a call dropped before the start go with its user's next call that can carry them",
        arguments: [(nil, nil, "gold"), (nil, "u2", "gold"), ("u1", "u1", "gold"), ("u1", "u2", nil)]
            as [(String?, String?, String?)]
    )
    func attributesOfDroppedCall(before: String?, after: String?, tier: String?) async throws {
        let app = try await App(start: false)
        app.evergage.userID = before
        app.evergage.setUserAttribute("gold", forName: "tier")
        app.evergage.setAccountAttribute("9", forName: "size")
        try app.global.trackAction("A")
        app.evergage.userID = after
        // Statistics carry no attributes.
        try app.global.trackImpression(StatTests.campaign())
        for _ in 1...99 { try app.global.trackAction("B") }
        app.evergage.start(.test)
        await app.settle()
        #expect(app.actions == ["-"] + Array(repeating: "B", count: 99))
        #expect(app.transport.events[1]["user"]?["attributes"]?["tier"]?.stringValue == tier)
        #expect(app.transport.events[1]["account"]?["attributes"] == ["size": "9"])
        #expect(app.transport.events.dropFirst(2).allSatisfy { $0["account"] == nil })
    }

    @Test("V01 all calls after the start count, however many wait for its end or for a change of consent")
    func afterStart() async throws {
        let app = try await App(start: false)
        func call(_ numbers: ClosedRange<Int>) throws {
            for number in numbers { try app.global.trackAction("\(number)") }
        }
        try call(0...100)
        app.evergage.start(.test)
        try call(101...300)
        await app.settle()
        #expect(app.actions == (1...300).map(\.description))
        app.evergage.setConsent(.granted)
        try call(301...600)
        await app.settle()
        #expect(app.actions == (1...600).map(\.description))
    }

    @Test("V02 with the policy to drop, calls before the start are never sent")
    func dropBeforeStart() async throws {
        let app = try await App(policy: .drop, start: false)
        try app.global.trackAction("A")
        app.evergage.start(.test)
        await app.settle()
        try app.global.trackAction("B")
        await app.settle()
        #expect(app.actions == ["B"])
        #expect(app.complaints(.warning) == ["a call before the start was ignored"])
    }

    @Test("V03 the first start counts")
    func secondStart() async throws {
        let app = try await App()
        app.evergage.start(App.second)
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.transport.sent.map(\.path) == ["/api2/event/engage"])
    }

    @Test("V04 after a reset the next start counts, and unsent events are gone")
    func reset() async throws {
        let app = try await App()
        app.goOffline()
        app.evergage.userID = "u1"
        try app.global.trackAction("lost")
        await app.settle()
        app.evergage.reset()
        app.evergage.start(App.second)
        app.goOnline()
        try app.global.trackAction("next")
        await app.settle()
        await app.pass(600)
        #expect(app.transport.sent.filter { $0.path.hasSuffix("/d2") }.map { $0.json["action"] } == ["next"])
        #expect(app.transport.sent.last?.json["user"] == ["anonId": "anon-1"])
        #expect(await app.vendor.received.map(\.action) == ["next"])
    }

    @Test("V05 a blank data set starts nothing; a correct start works afterwards")
    func blankDataset() async throws {
        let app = try await App(start: false)
        app.evergage.start(try EvergageConfiguration(account: "acme", dataset: " "))
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.transport.sent.isEmpty)
        #expect(app.complaints(.error) == ["not started: dataset must not be blank"])
        app.evergage.start(.test)
        await app.settle()
        #expect(app.actions == ["A"])
    }

    @Test("V06 without a user id there is no account id, and the next event has only the anonymous id")
    func signOut() async throws {
        let app = try await App()
        app.evergage.userID = "u1"
        app.evergage.accountID = "a1"
        try app.global.trackAction("in")
        app.evergage.userID = nil
        #expect(app.evergage.accountID == nil)
        try app.global.trackAction("out")
        await app.settle()
        #expect(app.transport.events.map { $0["user"] } == [["anonId": "anon-1", "id": "u1"], ["anonId": "anon-1"]])
        #expect(app.transport.events.map { $0["account"] } == [["id": "a1"], nil])
    }

    @Test("V06 removing the user id of an already anonymous user removes the account id as well")
    func stillAnonymous() async throws {
        let app = try await App()
        app.evergage.accountID = "a1"
        app.evergage.userID = nil
        #expect(app.evergage.accountID == nil)
    }

    @Test("V07 an event carries the identity at the time of its capture")
    func capturedIdentity() async throws {
        let app = try await App()
        app.goOffline()
        app.evergage.userID = "u1"
        try app.global.trackAction("A")
        app.evergage.userID = "u2"
        try app.global.trackAction("B")
        await app.settle()
        app.goOnline()
        await app.pass(600)
        let received = await app.vendor.received
        #expect(received.map(\.userKey) == ["u1", "u2"])
    }

    @Test("V07 an event before the start carries the identity at the time of its capture")
    func capturedIdentityBeforeStart() async throws {
        let app = try await App(start: false)
        app.evergage.userID = "u1"
        try app.global.trackAction("A")
        app.evergage.userID = "u2"
        try app.global.trackAction("B")
        app.evergage.start(.test)
        await app.settle()
        #expect(app.transport.events.map { $0["user"]?["id"] } == ["u1", "u2"])
    }

    @Test("user ids that differ only in their bytes are those of different users")
    func equivalentUsers() async throws {
        let app = try await App()
        let ids = ["\u{E9}", "e\u{301}"]
        for id in ids {
            app.evergage.userID = id
            try app.global.trackAction("A")
        }
        await app.settle()
        let sent = app.transport.events.compactMap { $0["user"]?["id"]?.stringValue }
        #expect(sent.map { Array($0.utf8) } == ids.map { Array($0.utf8) })
    }

    @Test("V08 a blank user id is ignored")
    func blankUser() async throws {
        let app = try await App()
        app.evergage.userID = "u1"
        for blank in ["  ", "", "\n\t"] { app.evergage.userID = blank }
        #expect(app.evergage.userID == "u1")
        #expect(app.complaints(.warning) == Array(repeating: "a blank user id was ignored", count: 3))
        // Without an earlier id, the user stays anonymous.
        let other = try await App()
        other.evergage.userID = " "
        for app in [app, other] {
            try app.global.trackAction("A")
            await app.settle()
        }
        #expect(app.transport.events.map { $0["user"] } == [["id": "u1", "anonId": "anon-1"]])
        #expect(other.transport.events.map { $0["user"] } == [["anonId": "anon-1"]])
    }

    @Test("V09 after a restart there is no user id, and the anonymous id is the same")
    func restart() async throws {
        let store = ClientStore.inMemory()
        let first = try await App(store: store, anonymousID: nil)
        first.evergage.userID = "u1"
        let id = try #require(first.evergage.anonymousID)
        let second = try await App(store: store, anonymousID: nil)
        #expect(second.evergage.userID == nil)
        #expect(second.evergage.anonymousID == id)
    }

    @Test("V10 an attribute causes no request and is sent with the next event only")
    func attribute() async throws {
        let app = try await App()
        app.evergage.setUserAttribute("gold", forName: "tier")
        app.evergage.setAccountAttribute("9", forName: "size")
        app.evergage.setUserAttribute("x", forName: " ")
        await app.settle()
        #expect(app.transport.sent.isEmpty)
        try app.global.trackAction("A")
        try app.global.trackAction("B")
        await app.settle()
        #expect(app.transport.events.map { $0["user"]?["attributes"] } == [["tier": "gold"], nil])
        #expect(app.transport.events.map { $0["account"]?["attributes"] } == [["size": "9"], nil])
    }

    @Test("V12 an account's attribute without a value is sent as null")
    func removedAccountAttribute() async throws {
        let app = try await App()
        app.evergage.setAccountAttribute(nil, forName: "size")
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.transport.events.map { $0["account"] } == [["attributes": ["size": .null]]])
    }

    @Test("a blank account id is none", arguments: [nil, "", " \n"] as [String?])
    func blankAccount(id: String?) async throws {
        let app = try await App()
        app.evergage.accountID = "a1"
        app.evergage.accountID = id
        #expect(app.evergage.accountID == nil)
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.transport.events.map { $0["account"] } == [nil])
    }

    @Test("V04 a reset forgets the ids of user and account, and their unsent attributes")
    func resetForgets() async throws {
        let app = try await App()
        app.evergage.userID = "u1"
        app.evergage.accountID = "a1"
        app.evergage.setUserAttribute("gold", forName: "tier")
        app.evergage.setAccountAttribute("9", forName: "size")
        app.evergage.reset()
        #expect(app.evergage.userID == nil && app.evergage.accountID == nil)
        app.evergage.start(.test)
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.transport.events.map { $0["user"] } == [["anonId": "anon-1"]])
        #expect(app.transport.events.map { $0["account"] } == [nil])
    }

    @Test("V11 the last value of an attribute is sent")
    func lastValue() async throws {
        let app = try await App()
        app.evergage.setUserAttribute("silver", forName: "tier")
        app.evergage.setUserAttribute("gold", forName: "tier")
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.transport.events.map { $0["user"]?["attributes"] } == [["tier": "gold"]])
    }

    @Test("V12 an attribute without a value is sent as null, and the vendor removes it")
    func removedAttribute() async throws {
        let app = try await App()
        app.evergage.setUserAttribute("gold", forName: "tier")
        try app.global.trackAction("A")
        app.evergage.setUserAttribute(nil, forName: "tier")
        try app.global.trackAction("B")
        await app.settle()
        #expect(app.transport.events.last?["user"]?["attributes"] == ["tier": .null])
        #expect(await app.user("anon-1")?["attributes"] == [:])
    }

    @Test("V13 a pending attribute is dropped when a named user changes, and kept when an anonymous user gets a name")
    func foreignAttribute() async throws {
        let app = try await App()
        app.evergage.setUserAttribute("yes", forName: "kept")
        app.evergage.userID = "u1"
        try app.global.trackAction("A")
        app.evergage.setUserAttribute("gold", forName: "tier")
        app.evergage.userID = "u2"
        try app.global.trackAction("B")
        await app.settle()
        #expect(app.transport.events.map { $0["user"]?["attributes"] } == [["kept": "yes"], nil])
    }

    @Test(
        "an account's waiting attributes are dropped when the account changes or is removed, and kept when it gets an id",
        arguments: [(nil, "a1", "9"), ("a1", "a1", "9"), ("a1", "a2", nil), ("a1", nil, nil)]
            as [(String?, String?, String?)]
    )
    func foreignAccountAttribute(before: String?, after: String?, size: String?) async throws {
        let app = try await App()
        app.evergage.userID = "u1"
        app.evergage.accountID = before
        app.evergage.setUserAttribute("gold", forName: "tier")
        app.evergage.setAccountAttribute("9", forName: "size")
        app.evergage.accountID = after
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.transport.events.map { $0["user"]?["attributes"] } == [["tier": "gold"]])
        #expect(app.transport.events[0]["account"]?["attributes"]?["size"]?.stringValue == size)
        #expect(app.transport.events[0]["account"]?["id"]?.stringValue == after)
        #expect(app.complaints(.warning).count == (size == nil ? 1 : 0))
    }

    @Test("an account's attributes that wait are dropped when its user signs out")
    func attributeOfLeftAccount() async throws {
        let app = try await App()
        app.evergage.userID = "u1"
        app.evergage.accountID = "a1"
        app.evergage.setAccountAttribute("9", forName: "size")
        app.evergage.userID = nil
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.transport.events.map { $0["account"] } == [nil])
    }

    @Test("an account's attributes of a call dropped before the start don't go with another account's call")
    func accountOfDroppedCall() async throws {
        let app = try await App(start: false)
        app.evergage.accountID = "a1"
        app.evergage.setAccountAttribute("9", forName: "size")
        try app.global.trackAction("A")
        app.evergage.accountID = "a2"
        for _ in 1...100 { try app.global.trackAction("B") }
        app.evergage.start(.test)
        await app.settle()
        #expect(app.actions == Array(repeating: "B", count: 100))
        #expect(app.transport.events.allSatisfy { $0["account"] == ["id": "a2"] })
    }

    private static var remote: EvergageConfiguration {
        var configuration = EvergageConfiguration.test
        configuration.usesRemoteConfiguration = true
        return configuration
    }

    @Test("V14 an application unknown to the vendor sends nothing and has no context")
    func unknownApplication() async throws {
        let app = try await App(start: false, world: #"{"applications":{}}"#)
        let context = try app.global
        app.evergage.start(Self.remote)
        context.trackAction("A")
        await app.settle()
        #expect(app.evergage.globalContext == nil)
        #expect(app.evergage.makeScreen() == nil)
        #expect(app.evergage.anonymousID == nil)
        context.trackAction("B")
        await app.settle()
        #expect(app.transport.events == [])
        // It waits for up to a week in case the vendor gets to know the application.
        #expect(try await app.evergage.client?.ledger() == Ledger(accepted: 1, pending: 1))
    }

    private nonisolated func sees(_ status: ProviderStatus, _ client: ExperimentationClient?) async throws {
        try await eventually("\(status)", seen: { "\(client?.status as Any)" }) { client?.status == status }
    }

    @Test("an application that is switched off is polled, and goes on when it is on, though nothing is sent")
    func switchedBackOn() async throws {
        let app = try await App(start: false, configuration: Self.remote)
        app.transport.setDetour { request, _ throws(ExperimentationError) in
            request.path?.hasPrefix("/mobile") == true ? .made(404) : nil
        }
        app.evergage.start(Self.remote)
        await app.settle()
        try await sees(.disabled, app.evergage.client)
        #expect(app.evergage.globalContext == nil)
        app.goOnline()
        await app.pass(3_600)
        try await sees(.ready, app.evergage.client)
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.actions == ["A"])
    }

    @Test("events while the application is switched off are kept, and sent when it is on")
    func keptWhileOff() async throws {
        let app = try await App(configuration: Self.remote)
        app.transport.setDetour { request, _ throws(ExperimentationError) in
            request.path?.hasPrefix("/mobile") == true ? .made(404) : nil
        }
        await app.pass(3_600)
        try await sees(.disabled, app.evergage.client)
        try await app.evergage.session?.track(.custom("A"))
        await app.settle()
        #expect(app.transport.events == [])
        app.goOnline()
        await app.pass(3_600)
        try await sees(.ready, app.evergage.client)
        await app.settle()
        #expect(app.actions == ["A"])
    }

    @Test("while an expired configuration can't be renewed, it is asked for once a minute, and events are sent")
    func renewalFails() async throws {
        let app = try await App(configuration: Self.remote)
        try app.global.trackAction("A")
        await app.settle()
        func asked() -> Int { app.transport.sent.count { $0.path.hasPrefix("/mobile") } }
        let before = asked()
        app.transport.setDetour { request, _ throws(ExperimentationError) in
            request.path?.hasPrefix("/mobile") == true ? .made(503) : nil
        }
        await app.pass(3_600)
        for name in ["B", "C", "D"] { try app.global.trackAction(name) }
        await app.settle()
        #expect(app.actions == ["A", "B", "C", "D"])
        #expect(asked() == before + 1)
        app.goOnline()
        await app.pass(60)
        try app.global.trackAction("E")
        await app.settle()
        #expect(app.actions.last == "E")
        #expect(asked() == before + 2)
    }

    @Test("V15 events wait for a slow configuration, and are sent after it in order")
    func slowConfiguration() async throws {
        let app = try await App(start: false)
        app.transport.setDetour { request, _ throws(ExperimentationError) in
            request.path?.hasPrefix("/mobile") == true ? .made(503) : nil
        }
        app.evergage.start(Self.remote)
        await app.settle()
        try app.global.trackAction("A")
        try app.global.trackAction("B")
        await app.settle()
        #expect(app.transport.events == [])
        app.goOnline()
        await app.pass(600)
        #expect(app.actions == ["A", "B"])
    }

    @Test(
        "V04 events in delivery at a reset aren't sent again, neither to the next data set nor to the same one",
        arguments: ["d2", "engage"]
    )
    func resetWhileSending(dataset: String) async throws {
        let app = try await App()
        let gate = Turnstile()
        app.transport.setDetour { _, _ throws(ExperimentationError) in
            await gate.pass()
            throw ExperimentationError(.transport, "lost")
        }
        try app.global.trackAction("A")
        try await gate.isReached()
        app.evergage.reset()
        app.goOnline()
        var next = EvergageConfiguration.test
        next.dataset = dataset
        app.evergage.start(next)
        gate.open()
        await app.settle()
        await app.pass(600)
        try app.global.trackAction("B")
        await app.settle()
        #expect(app.actions == ["A", "B"])
        #expect(app.transport.sent.map(\.path) == ["/api2/event/engage", "/api2/event/\(dataset)"])
    }

    @Test("V04 a reset before the start has ended removes what an earlier run left")
    func resetWhileStarting() async throws {
        let store = ClientStore.inMemory()
        let first = try await App(store: store)
        first.evergage.setConnectivity(.offline)
        await first.settle()
        try first.global.trackAction("lost")
        await first.settle()
        await first.evergage.client?.shutdown(within: .zero)
        let second = try await App(start: false, store: store)
        second.evergage.start(.test)
        second.evergage.reset()
        second.evergage.start(.test)
        await second.settle()
        #expect(second.actions == [])
        #expect(try await second.evergage.client?.ledger() == Ledger(accepted: 1, purged: 1))
    }

    @Test("V16 a reset keeps handlers and views, and forgets held campaigns")
    func resetKeeps() async throws {
        let app = try await App(
            campaigns: App.campaign("held", target: "U", action: "A"),
            App.campaign("c", action: "B")
        )
        let screen = try app.shownScreen()
        let shown = Shown()
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        screen.viewItem(.p)
        screen.trackAction("A")
        await app.settle()
        await app.pass(5)
        app.evergage.reset()
        app.evergage.start(.test)
        await app.settle()
        screen.setCampaignHandler(forTarget: "U", shown.handler)
        await app.settle()
        #expect(shown.ids == [])
        screen.trackAction("B")
        await app.pass(3)
        #expect(shown.ids == ["c"])
        screen.viewItem(nil)
        await app.settle()
        // The five seconds before the reset were never sent.
        #expect(app.pings == ["p 3000"])
    }

    @Test("a configuration served by the vendor sets durations, and invalid values are ignored")
    func remoteSettings() {
        let remote = EvergageRemoteConfiguration([
            "enabled": true, "ttlMillis": 1000, "userIdleMillis": -1, "screenVisibleDeadlineMillis": 5000, "other": 1,
            "viewTimePingMillis": "soon",
        ])
        var expected = EvergageRemoteConfiguration()
        expected.lifetime = .seconds(1)
        expected.screenVisibleDeadline = .seconds(5)
        #expect(remote == expected)
    }

    @Test(
        "the vendor's settings are valid for a second at least",
        arguments: [(1, 1_000), (999, 1_000), (1_001, 1_001)]
    )
    func lifetime(served: Int, used: Int) {
        #expect(EvergageRemoteConfiguration(["ttlMillis": .int(served)]).lifetime == .milliseconds(used))
    }

    @Test(
        "the vendor's portion of view time is at least two seconds and at most a minute",
        arguments: [(1, 2_000), (1_999, 2_000), (2_000, 2_000), (20_000, 20_000), (60_001, 60_000)]
    )
    func portion(served: Int, used: Int) {
        #expect(EvergageRemoteConfiguration(["viewTimePingMillis": .int(served)]).viewTimePing == .milliseconds(used))
    }
}
