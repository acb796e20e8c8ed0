import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import Testing
import Waiting

@testable import EvergageAdapter

@Suite("Views and time")
@MainActor
struct ViewTests {
    /// An application on whose screen an item has been viewed for some seconds.
    private func viewing(for seconds: Double) async throws -> (App, EvergageScreen) {
        let app = try await App()
        let screen = try app.shownScreen()
        screen.viewItem(.p)
        await app.pass(seconds)
        return (app, screen)
    }

    @Test("V46 a view is an action, an item action and the item")
    func view() async throws {
        let app = try await App()
        try app.global.viewItem(.p)
        try app.global.viewItemDetail(.p)
        await app.settle()
        #expect(app.transport.events.map { $0["action"] } == ["View Item", "View Item Detail"])
        #expect(app.transport.events.map { $0["itemAction"] } == ["View Item", "View Item Detail"])
        #expect(app.transport.events.map { $0["catalog"]?["Product"]?["_id"] } == ["p", "p"])
    }

    @Test("V47 another action name changes only the action")
    func actionName() async throws {
        let app = try await App()
        try app.global.viewItem(.p, actionName: "Peek")
        await app.settle()
        #expect(app.transport.events.map { $0["action"] } == ["Peek"])
        #expect(app.transport.events.map { $0["itemAction"] } == ["View Item"])
    }

    @Test("V48 a blank action name is ignored")
    func blankActionName() async throws {
        let app = try await App()
        for name in ["  ", "", "\n"] { try app.global.viewItem(.p, actionName: name) }
        await app.pass(5)
        try app.global.viewItem(nil)
        await app.settle()
        #expect(app.actions == ["View Item", "View Item", "View Item"])
        // The view's statistics have the same name.
        let ping = try #require(app.transport.sent.last { $0.path.hasPrefix("/pr") })
        #expect(ping.query["action"] == "View Item")
    }

    @Test("V49 viewing nothing sends no event, whatever its name, and stops the time")
    func nothing() async throws {
        let (app, screen) = try await viewing(for: 5)
        screen.viewItem(nil, actionName: "Peek")
        await app.pass(30)
        screen.willDisappear()
        await app.settle()
        #expect(app.actions == ["View Item"])
        #expect(app.pings == ["p 5000"])
    }

    @Test("V50 viewing no category ends the view of an item and reports its time")
    func otherKind() async throws {
        let (app, screen) = try await viewing(for: 4)
        screen.viewCategory(nil)
        await app.settle()
        #expect(app.pings == ["p 4000"])
        #expect(screen.viewing.timer.nextPortion == nil)
    }

    @Test("V51 a tag is sent under its type")
    func tag() async throws {
        let app = try await App()
        try app.global.viewTag(.tag(id: "Acme", type: .brand))
        await app.settle()
        #expect(app.transport.events.first?["catalog"] == ["Brand": ["_id": "Acme"]])
        #expect(app.actions == ["View Tag"])
    }

    @Test("V52 an item without an id sends no event, and the previous view continues")
    func blankItem() async throws {
        let (app, screen) = try await viewing(for: 3)
        screen.viewItem(.product(id: " "))
        await app.pass(3)
        screen.viewItem(nil)
        await app.settle()
        #expect(app.actions == ["View Item"])
        #expect(app.pings == ["p 6000"])
        #expect(app.complaints(.error) == ["View Item: the item's id is blank; dropped"])
    }

    @Test("V53 the next item reports the time of the previous one, and starts at zero")
    func next() async throws {
        let (app, screen) = try await viewing(for: 5)
        screen.viewItem(.q)
        await app.pass(3)
        screen.viewItem(nil)
        await app.settle()
        #expect(app.pings == ["p 5000", "q 3000"])
    }

    @Test("changed attributes are sent with the next view, not with the time of the previous one")
    func changedAttributes() async throws {
        let (app, screen) = try await viewing(for: 5)
        try #require(app.evergage.session).update(["tier": "gold"])
        screen.viewItem(.q)
        await app.settle()
        #expect(app.pings == ["p 5000"])
        #expect(app.transport.events.map { $0["user"]?["attributes"] } == [nil, ["tier": "gold"]])
    }

    @Test("V54 less than two seconds aren't reported")
    func short() async throws {
        let app = try await App()
        let screen = try app.shownScreen()
        screen.viewItem(.p)
        await app.pass(1.5)
        screen.viewItem(.q)
        await app.settle()
        #expect(app.pings == [])
    }

    @Test("a short time isn't added to the time of an item whose id differs only in its bytes")
    func equivalentItems() async throws {
        let app = try await App()
        let screen = try app.shownScreen()
        screen.viewItem(.product(id: "\u{E9}"))
        await app.pass(1.5)
        screen.viewItem(.product(id: "e\u{301}"))
        await app.pass(1)
        screen.viewItem(nil)
        await app.settle()
        #expect(app.pings == [])
    }

    @Test("V55 a short time is added to the next one, if the item is still the same")
    func kept() async throws {
        let app = try await App()
        let screen = try app.shownScreen()
        screen.viewItem(.p)
        await app.pass(1.5)
        app.evergage.setApplicationState(.background)
        await app.pass(100)
        #expect(app.pings == [])
        app.evergage.setApplicationState(.foreground)
        await app.pass(1)
        screen.willDisappear()
        await app.settle()
        #expect(app.pings == ["p 2500"])
    }

    @Test("V56 every full minute is reported, and the rest at the end")
    func long() async throws {
        let app = try await App()
        let screen = try app.shownScreen()
        screen.viewItem(.p)
        for _ in 0..<15 {
            await app.pass(10)
            app.evergage.touched()
        }
        screen.willDisappear()
        await app.settle()
        #expect(app.pings == ["p 60000", "p 60000", "p 30000"])
        #expect(await app.user("anon-1")?["viewTimeMillis"] == ["Product/p": 150_000])
    }

    @Test("V57 after a minute without a touch no time counts")
    func untouched() async throws {
        let (app, screen) = try await viewing(for: 200)
        app.evergage.touched()
        screen.willDisappear()
        await app.settle()
        #expect(app.pings == ["p 60000"])
    }

    @Test("V58 the time before a screen is visible doesn't count")
    func beforeVisible() async throws {
        let app = try await App()
        let screen = try #require(app.evergage.makeScreen())
        screen.viewItem(.p)
        await app.pass(3)
        screen.didAppear()
        await app.pass(4)
        screen.willDisappear()
        await app.settle()
        #expect(app.actions == ["View Item"])
        #expect(app.pings == ["p 4000"])
    }

    @Test("V59 a screen that returns sends no second view; its time continues")
    func returns() async throws {
        let (app, screen) = try await viewing(for: 10)
        screen.willDisappear()
        await app.pass(20)
        screen.didAppear()
        await app.pass(5)
        screen.willDisappear()
        await app.settle()
        #expect(app.actions == ["View Item"])
        #expect(app.pings == ["p 10000", "p 5000"])
    }

    @Test("V60 categories and tags accrue time as well")
    func categoriesAndTags() async throws {
        let app = try await App()
        let screen = try app.shownScreen()
        screen.viewCategory(.category(id: "Shoes|Trail"))
        await app.pass(4)
        screen.viewTag(.tag(id: "Acme", type: .brand))
        await app.pass(3)
        screen.viewItem(nil)
        await app.settle()
        #expect(app.pings == ["Shoes|Trail 4000", "Acme 3000"])
        #expect(await app.user("anon-1")?["viewTimeMillis"] == ["Category/Shoes|Trail": 4000, "Brand/Acme": 3000])
    }

    @Test("another action name changes only the action, for every kind of view; a blank one is ignored")
    func actionNames() async throws {
        let app = try await App()
        let (category, tag) = (EvergageItem.category(id: "Shoes"), EvergageItem.tag(id: "Acme", type: .brand))
        for name in ["Peek", "  "] {
            try app.global.viewItemDetail(.p, actionName: name)
            try app.global.viewCategory(category, actionName: name)
            try app.global.viewTag(tag, actionName: name)
        }
        await app.settle()
        #expect(
            app.transport.events.map { [$0["action"]?.stringValue, $0["itemAction"]?.stringValue] } == [
                ["Peek", "View Item Detail"], ["Peek", "View Category"], ["Peek", "View Tag"],
                ["View Item Detail", "View Item Detail"], ["View Category", "View Category"],
                ["View Tag", "View Tag"],
            ]
        )
        let items = app.transport.events.map { $0["catalog"]?.objectValue?.keys.first }
        #expect(items == ["Product", "Category", "Brand", "Product", "Category", "Brand"])
    }

    @Test("view time is reported in portions as long as the vendor's configuration says")
    func portions() async throws {
        var configuration = EvergageConfiguration.test
        configuration.usesRemoteConfiguration = true
        let app = try await App(start: false)
        app.transport.setDetour { request, _ throws(ExperimentationError) in
            request.path?.hasPrefix("/mobile") == true ? .made(200, #"{"viewTimePingMillis":20000}"#) : nil
        }
        app.evergage.start(configuration)
        await app.settle()
        let screen = try app.shownScreen()
        screen.viewItem(.p)
        await app.settle()
        for _ in 0..<5 {
            app.evergage.touched()
            await app.pass(10)
        }
        screen.viewItem(nil)
        await app.settle()
        #expect(app.pings == ["p 20000", "p 20000", "p 10000"])
    }

    @Test("view time has the user, item, source, duration and date, and neither attributes nor campaigns")
    func ping() async throws {
        let app = try await App()
        app.evergage.userID = "u-77"
        let screen = try app.shownScreen()
        screen.viewItem(.p, actionName: "Peek")
        await app.pass(42)
        app.evergage.setUserAttribute("gold", forName: "tier")
        screen.viewItem(nil)
        await app.settle()
        let ping = try #require(app.transport.sent.last)
        #expect(
            ping.query == [
                "_ak": "acme", "_ds": "engage", ".top": "42000", "action": "Peek",
                "item": #"{"_id":"p","type":"Product"}"#, "channel": "MobileApp", "_r": "500000",
                ".anonId": "anon-1", "userId": "u-77", "_time": "1795255242000",
            ]
        )
        #expect(ping.body.isEmpty)
        #expect(ping.request.method.rawValue == "GET")
    }

    @Test("the view time of a user without a name is marked as anonymous")
    func anonymousPing() async throws {
        let (app, screen) = try await viewing(for: 5)
        screen.viewItem(nil)
        await app.settle()
        let ping = try #require(app.transport.sent.last)
        #expect(ping.query["_anon"] == "true" && ping.query[".anonId"] == "anon-1" && ping.query["userId"] == nil)
    }

    @Test("the vendor's configuration says when a user counts as idle, and how long handlers wait for their screen")
    func remoteTimes() async throws {
        var configuration = EvergageConfiguration.test
        configuration.usesRemoteConfiguration = true
        let app = try await App(start: false)
        app.transport.setDetour { request, _ throws(ExperimentationError) in
            request.path?.hasPrefix("/mobile") == true
                ? .made(200, #"{"userIdleMillis":20000,"screenVisibleDeadlineMillis":5000}"#) : nil
        }
        app.evergage.start(configuration)
        // The configuration is fetched for an event.
        try app.global.trackAction("A")
        await app.settle()
        let (late, intime) = (try #require(app.evergage.makeScreen()), try #require(app.evergage.makeScreen()))
        for screen in [late, intime] { screen.setCampaignHandler(forTarget: "T") { _ in } }
        await app.pass(4.9)
        intime.didAppear()
        await app.pass(0.2)
        late.didAppear()
        #expect(late.handlers.isEmpty && !intime.handlers.isEmpty)
        intime.viewItem(.p)
        await app.pass(50)
        intime.viewItem(nil)
        await app.settle()
        #expect(app.pings == ["p 20000"])
    }

    @Test("the name of an action is cut at 1,024 characters, in its event and in its time", arguments: [1_024, 1_025])
    func longNames(count: Int) async throws {
        let app = try await App()
        let screen = try app.shownScreen()
        let name = String(repeating: "é", count: count)
        screen.viewItem(.p, actionName: name)
        screen.trackAction(name)
        await app.pass(5)
        screen.viewItem(nil)
        await app.settle()
        let cut = String(name.prefix(1_024))
        #expect(app.actions == [cut, cut])
        #expect(app.transport.sent.last?.query["action"] == cut)
    }

    @Test("time counts for the user who viewed; what is too short to report isn't added to the next user's")
    func timeOfUsers() async throws {
        let app = try await App()
        let screen = try app.shownScreen()
        screen.viewItem(.p)
        for (user, seconds) in [("u1", 4), ("u2", 30), ("u3", 1.5), (nil, 1), ("u4", 5)] as [(String?, Double)] {
            app.evergage.userID = user
            app.evergage.userID = user
            await app.pass(seconds)
        }
        screen.viewItem(nil)
        await app.settle()
        #expect(app.pings == ["p 4000", "p 30000", "p 5000"])
        let users = app.transport.sent.filter { $0.path.hasPrefix("/pr") }.map { $0.query["userId"] }
        #expect(users == ["u1", "u2", "u4"])
        #expect(app.actions == ["View Item"])
    }

    @Test("the time of a denial doesn't count")
    func denied() async throws {
        let app = try await App()
        let screen = try app.shownScreen()
        screen.viewItem(.p)
        app.evergage.setConsent(.denied)
        await app.pass(40)
        app.evergage.setConsent(.granted)
        await app.pass(1)
        screen.willDisappear()
        await app.settle()
        #expect(app.pings == [])
    }

    @Test("what is viewed during a denial is not reported, and its time counts afterwards")
    func viewedWhileDenied() async throws {
        let (app, screen) = try await viewing(for: 1)
        app.evergage.setConsent(.denied)
        screen.viewItem(.q)
        await app.pass(5)
        app.evergage.setConsent(.granted)
        await app.pass(4)
        screen.willDisappear()
        await app.settle()
        #expect(app.actions == ["View Item"])
        #expect(app.pings == ["q 4000"])
        screen.didAppear()
        app.evergage.setConsent(.denied)
        screen.viewItem(nil)
        app.evergage.setConsent(.granted)
        await app.pass(6)
        screen.willDisappear()
        await app.settle()
        #expect(app.pings == ["q 4000"])
    }

    @Test("view time isn't captured while the application is switched off")
    func switchedOff() async throws {
        var configuration = EvergageConfiguration.test
        configuration.usesRemoteConfiguration = true
        let app = try await App(configuration: configuration)
        let screen = try app.shownScreen()
        screen.viewItem(.p)
        await app.settle()
        app.transport.setDetour { request, _ throws(ExperimentationError) in
            request.path?.hasPrefix("/mobile") == true ? .made(404) : nil
        }
        await app.pass(3_600)
        try await eventually("the application is switched off") { app.evergage.isDisabled }
        let before = try await app.evergage.client?.ledger().accepted
        app.evergage.touched()
        await app.pass(60)
        screen.willDisappear()
        await app.settle()
        #expect(try await app.evergage.client?.ledger().accepted == before)
    }

    @Test("the time in which the application is switched off doesn't count")
    func timeSwitchedOff() async throws {
        var configuration = EvergageConfiguration.test
        configuration.usesRemoteConfiguration = true
        let app = try await App(configuration: configuration)
        func turns(off isOff: Bool) async throws {
            try await eventually(isOff ? "the application is switched off" : "the application is back on") {
                app.time.advance(by: .seconds(60))
                return app.evergage.isDisabled == isOff
            }
        }
        let screen = try app.shownScreen()
        app.transport.setDetour { request, _ throws(ExperimentationError) in
            request.path?.hasPrefix("/mobile") == true ? .made(404) : nil
        }
        try await turns(off: true)
        app.evergage.touched()
        screen.viewItem(.p)
        await app.pass(1.5)
        screen.willDisappear()
        app.goOnline()
        try await turns(off: false)
        screen.didAppear()
        await app.pass(1)
        screen.willDisappear()
        await app.settle()
        #expect(app.pings == [])
    }

    @Test(
        "time before the start counts if calls before it do",
        arguments: [(.queue, ["p 31000"]), (.drop, [])] as [(Evergage.PreStartPolicy, [String])]
    )
    func beforeTheStart(policy: Evergage.PreStartPolicy, pings: [String]) async throws {
        let app = try await App(policy: policy, start: false)
        let screen = try app.shownScreen()
        screen.viewItem(.p)
        // Not with `pass`: the start itself must settle what counts.
        app.time.advance(by: .seconds(30))
        app.evergage.start(.test)
        await app.settle()
        await app.pass(1)
        screen.willDisappear()
        await app.settle()
        #expect(app.pings == pings)
    }

    @Test("a screen that is released while it is viewed reports its time")
    func lost() async throws {
        let app = try await App()
        do {
            let screen = try app.shownScreen()
            screen.viewItem(.p)
            await app.pass(7)
        }
        await mainActorTurn()
        await app.settle()
        #expect(app.pings == ["p 7000"])
    }

    /// An application whose screen was released while an item was viewed on it, and in which nothing has run since.
    private func released(after seconds: Int) async throws -> App {
        let app = try await App()
        var screen: EvergageScreen? = try app.shownScreen()
        screen?.viewItem(.p)
        app.time.advance(by: .seconds(seconds))
        screen = nil
        return app
    }

    @Test("a released screen reports no time after a minute without a touch, though nothing has run by then")
    func lostWhileIdle() async throws {
        let app = try await released(after: 130)
        app.evergage.touched()
        await app.pass(5)
        #expect(app.pings == ["p 60000"])
    }

    @Test("the time of a released screen counts for its user, even if another one signs in at once")
    func lostBeforeSignIn() async throws {
        let app = try await released(after: 7)
        app.evergage.userID = "u-2"
        await mainActorTurn()
        await app.settle()
        #expect(app.pings == ["p 7000"])
        #expect(app.transport.sent.last?.query["userId"] == nil)
    }

    @Test("a reset discards the time of a screen that has just been released")
    func lostBeforeReset() async throws {
        let app = try await released(after: 7)
        app.evergage.reset()
        await mainActorTurn()
        app.evergage.start(App.second)
        await app.settle()
        #expect(app.pings == [])
    }
}
