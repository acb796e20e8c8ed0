import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import MockVendors
import Testing

@testable import EvergageAdapter

@Suite("Start and identity")
@MainActor
struct StartTests {
    @Test("the shared instance is the one that the application sets, and others are their own")
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
        "messages below the level aren't made, at each of the reference's levels",
        arguments: [
            (LogLevel.off, 0), (.error, 1), (.warning, 2), (.info, 3), (.debug, 3), (.trace, 3),
        ]
    )
    func logLevels(level: LogLevel, count: Int) async {
        let log = RecordingLog(level: level)
        let evergage = Evergage(environment: ClientEnvironment(time: ManualTime(), log: log))
        // An error, a warning and a piece of information.
        evergage.start(try EvergageConfiguration(account: "", dataset: "engage"))
        evergage.userID = " "
        evergage.globalContext?.trackClickthrough(notification: ["aps": [:]], actionIdentifier: nil)
        let expected: [LogLevel] = [.error, .warning, .info]
        #expect(log.entries.map(\.level) == Array(expected.prefix(count)))
    }

    @Test("V01 what is tracked before the start is sent after it")
    func beforeStart() async throws {
        let app = try await App(start: false)
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.actions == [])
        app.evergage.start(.test)
        await app.settle()
        #expect(app.actions == ["A"])
    }

    @Test("V01 a hundred calls are kept before the start, the latest")
    func preStartLimit() async throws {
        let app = try await App(start: false)
        for number in 1...101 { try app.global.trackAction("A\(number)") }
        app.evergage.start(.test)
        await app.settle()
        #expect(app.actions.count == 100)
        #expect(app.actions.first == "A2")
    }

    @Test("V02 with the policy to drop, what is tracked before the start is never sent")
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

    @Test("V04 after a reset the next start counts, and what wasn't sent is gone")
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

    @Test("V05 a blank data set starts nothing; a correct start works then")
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

    @Test("V06 no user id means no account id, and the next event has the anonymous id alone")
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

    @Test("V07 an event carries who it was when it was captured")
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

    @Test("V07 the same holds before the start")
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

    @Test("V08 a blank user id is ignored")
    func blankUser() async throws {
        let app = try await App()
        app.evergage.userID = "u1"
        app.evergage.userID = "  "
        #expect(app.evergage.userID == "u1")
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

    @Test("V10 an attribute makes no request, rides on the next event, and on no other")
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

    @Test("V11 the last value of an attribute is sent")
    func lastValue() async throws {
        let app = try await App()
        app.evergage.setUserAttribute("silver", forName: "tier")
        app.evergage.setUserAttribute("gold", forName: "tier")
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.transport.events.map { $0["user"]?["attributes"] } == [["tier": "gold"]])
    }

    @Test("V12 an attribute without a value is sent as null, and the vendor forgets it")
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

    @Test("V13 an attribute that waits is dropped when a named user becomes another, and kept when a name comes")
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

    private static var remote: EvergageConfiguration {
        var configuration = EvergageConfiguration.test
        configuration.usesRemoteConfiguration = true
        return configuration
    }

    @Test("V14 an application that the vendor doesn't know sends nothing and has no context")
    func unknownApplication() async throws {
        let app = try await App(world: #"{"applications":{}}"#, configuration: Self.remote)
        let context = try app.global
        context.trackAction("A")
        await app.settle()
        #expect(app.evergage.globalContext == nil)
        #expect(app.evergage.makeScreen() == nil)
        #expect(app.evergage.anonymousID == nil)
        context.trackAction("B")
        await app.settle()
        #expect(app.transport.events == [])
        #expect(try await app.evergage.client?.ledger() == Ledger(accepted: 1, dropped: [.rejected: 1]))
    }

    @Test("V15 events wait for a configuration that is slow, and are sent after it in their order")
    func slowConfiguration() async throws {
        let app = try await App(configuration: Self.remote)
        app.transport.setDetour { request, _ throws(ExperimentationError) in
            request.path?.hasPrefix("/mobile") == true ? .made(503) : nil
        }
        try app.global.trackAction("A")
        try app.global.trackAction("B")
        await app.settle()
        #expect(app.transport.events == [])
        app.goOnline()
        await app.pass(600)
        #expect(app.actions == ["A", "B"])
    }

    @Test("V16 a reset keeps handlers and what is viewed, and forgets held campaigns")
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

    @Test("at most one of install and upgrade, then launch, and the way to the background and back")
    func lifecycle() async throws {
        let store = ClientStore.inMemory()
        let first = try await App(lifecycle: true, version: "1", store: store)
        first.evergage.setApplicationState(.background)
        first.evergage.setApplicationState(.foreground)
        await first.settle()
        #expect(first.actions == ["App Install", "App Launch", "App Background", "App Foreground"])
        let second = try await App(lifecycle: true, version: "1", store: store)
        #expect(second.actions == ["App Launch"])
        let third = try await App(lifecycle: true, version: "2", store: store)
        #expect(third.actions == ["App Upgrade", "App Launch"])
    }

    @Test("a configuration that the vendor serves sets how long things last, and what makes no sense is ignored")
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
}
