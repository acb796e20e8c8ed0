import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing
import Waiting

@testable import EvergageAdapter

@Suite("Contexts and campaigns")
@MainActor
struct ContextTests {
    @Test("V17 a handler is called once, on the main actor, after the tracking call has returned")
    func handler() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"))
        let screen = try app.shownScreen()
        let shown = Shown()
        screen.setCampaignHandler(forTarget: "T") { campaign in
            MainActor.assertIsolated()
            shown.campaigns.append(campaign)
        }
        screen.trackAction("A")
        #expect(shown.ids == [])
        await app.settle()
        #expect(shown.ids == ["c"])
        #expect(shown.campaigns.first?.promotedItems == ["Product": ["sku-1"]])
    }

    @Test("V18 a campaign without a handler is held, and delivered once there is one, but not within that call")
    func held() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"))
        let screen = try app.shownScreen()
        let shown = Shown()
        screen.trackAction("A")
        await app.settle()
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        #expect(shown.ids == [])
        await mainActorTurn()
        #expect(shown.ids == ["c"])
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        await mainActorTurn()
        #expect(shown.ids == ["c"])
    }

    @Test("V19 of two held campaigns for a target the later one is delivered")
    func latest() async throws {
        let app = try await App(campaigns: App.campaign("one", action: "A"), App.campaign("two", action: "B"))
        let screen = try app.shownScreen()
        let shown = Shown()
        screen.trackAction("A")
        screen.trackAction("B")
        await app.settle()
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        await mainActorTurn()
        #expect(shown.ids == ["two"])
    }

    @Test("V20 held campaigns for two targets are delivered in the order of arrival")
    func order() async throws {
        let app = try await App(
            campaigns: App.campaign("one", target: "Z", action: "A"),
            App.campaign("two", target: "B", action: "B")
        )
        let screen = try app.shownScreen()
        let shown = Shown()
        screen.setCampaignHandler(forTarget: "B", shown.handler)
        screen.setCampaignHandler(forTarget: "Z", shown.handler)
        app.evergage.setApplicationState(.idle)
        screen.trackAction("A")
        screen.trackAction("B")
        await app.settle()
        #expect(shown.ids == [])
        app.evergage.touched()
        await mainActorTurn()
        #expect(shown.ids == ["one", "two"])
    }

    @Test("V21 campaigns that arrive in the background are delivered in the foreground")
    func background() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"))
        let screen = try app.shownScreen()
        let shown = Shown()
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        app.evergage.setApplicationState(.background)
        screen.trackAction("A")
        await app.settle()
        #expect(shown.ids == [])
        app.evergage.setApplicationState(.foreground)
        await mainActorTurn()
        #expect(shown.ids == ["c"])
    }

    @Test("V22 while the user is idle, campaigns are held; a touch delivers them")
    func idle() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"))
        let screen = try app.shownScreen()
        let shown = Shown()
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        await app.pass(60)
        screen.trackAction("A")
        await app.settle()
        #expect(shown.ids == [])
        app.evergage.touched()
        await mainActorTurn()
        #expect(shown.ids == ["c"])
    }

    @Test("V22 just before a minute has passed the user isn't idle")
    func almostIdle() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"))
        let screen = try app.shownScreen()
        let shown = Shown()
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        await app.pass(59.999)
        screen.trackAction("A")
        await app.settle()
        #expect(shown.ids == ["c"])
    }

    @Test("V23 an answer for a screen that disappeared meanwhile is dropped, even if the screen is back")
    func disappeared() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"))
        let screen = try app.shownScreen()
        let shown = Shown()
        let gate = Gate()
        app.transport.setDetour { _, _ throws(ExperimentationError) in
            await gate.wait()
            return nil
        }
        screen.trackAction("A")
        let delivery = Task { await app.settle() }
        await gate.waitForVisitor()
        screen.willDisappear()
        screen.didAppear()
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        gate.open()
        await delivery.value
        await mainActorTurn()
        #expect(shown.ids == [])
        #expect(app.actions == ["A"])
        app.goOnline()
        screen.trackAction("A")
        await app.settle()
        #expect(shown.ids == ["c"])
    }

    @Test("V23 an event sent after its screen is gone requests no campaigns")
    func staleEvent() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"))
        let screen = try app.shownScreen()
        app.goOffline()
        screen.trackAction("A")
        await app.settle()
        screen.willDisappear()
        app.goOnline()
        await app.pass(10)
        // However often it was attempted before.
        let flags = app.transport.events.map { $0["flags"] }
        #expect(flags.last == ["noCampaigns": true])
        #expect(flags.count > 1 && flags.dropLast().allSatisfy { $0 == nil })
    }

    @Test("V24 a screen that disappears forgets its handlers")
    func forgottenHandlers() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"))
        let screen = try app.shownScreen()
        let shown = Shown()
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        screen.willDisappear()
        screen.didAppear()
        screen.trackAction("A")
        await app.settle()
        #expect(shown.ids == [])
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        await mainActorTurn()
        #expect(shown.ids == ["c"])
    }

    @Test("V25 a screen that isn't shown for half a minute forgets its handlers")
    func deadline() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"))
        let screen = try #require(app.evergage.makeScreen())
        let shown = Shown()
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        app.time.advance(by: .milliseconds(30_001))
        await app.settle()
        screen.didAppear()
        screen.trackAction("A")
        await app.settle()
        #expect(shown.ids == [])
    }

    @Test("V25 the timer alone makes a screen forget its handlers, without any call")
    func alarm() async throws {
        let app = try await App()
        let screen = try #require(app.evergage.makeScreen())
        var captured: Captured? = Captured()
        weak let lost = captured
        screen.setCampaignHandler(forTarget: "T") { [captured] _ in _ = captured }
        captured = nil
        await app.time.waitForSleepers(1)
        app.time.advance(by: .seconds(29))
        await mainActorTurn()
        #expect(lost != nil)
        app.time.advance(by: .seconds(2))
        try await eventually("the end of the context") { lost == nil }
        #expect(lost == nil)
    }

    @Test("V26 setting a handler again extends the deadline")
    func laterDeadline() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"))
        let screen = try #require(app.evergage.makeScreen())
        let shown = Shown()
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        await app.pass(20)
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        await app.pass(29)
        screen.didAppear()
        screen.trackAction("A")
        await app.settle()
        #expect(shown.ids == ["c"])
    }

    @Test("V27 the global context keeps its handlers whatever happens")
    func globalHandlers() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"))
        let shown = Shown()
        try app.global.setCampaignHandler(forTarget: "T", shown.handler)
        app.evergage.setApplicationState(.background)
        app.evergage.setApplicationState(.foreground)
        await app.pass(3600)
        app.evergage.touched()
        try app.global.trackAction("A")
        await app.settle()
        #expect(shown.ids == ["c"])
    }

    @Test("V28 after a handler is removed, campaigns are held, and the former handler isn't called")
    func removedHandler() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"))
        let screen = try app.shownScreen()
        let shown = Shown()
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        screen.setCampaignHandler(forTarget: "T", nil)
        screen.trackAction("A")
        await app.settle()
        #expect(shown.ids == [])
        #expect(app.evergage.session?.heldCampaigns(on: screen.surface).map(\.id) == ["c"])
    }

    @Test("V29 targets are compared exactly; a blank one is ignored")
    func exactTarget() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"))
        let screen = try app.shownScreen()
        let shown = Shown()
        screen.setCampaignHandler(forTarget: "t", shown.handler)
        screen.setCampaignHandler(forTarget: " ", shown.handler)
        screen.trackAction("A")
        await app.settle()
        #expect(shown.ids == [])
        #expect(app.complaints(.warning) == ["a handler for a blank target was ignored"])
    }

    @Test("V30 actions of the global context deliver nothing to a screen")
    func otherContext() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"))
        let screen = try app.shownScreen()
        let shown = Shown()
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        try app.global.trackAction("A")
        await app.settle()
        #expect(shown.ids == [])
    }

    @Test("V31 two campaigns for a target in one answer are both delivered, in order")
    func two() async throws {
        let app = try await App(campaigns: App.campaign("one", action: "A"), App.campaign("two", action: "A"))
        let screen = try app.shownScreen()
        let shown = Shown()
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        screen.trackAction("A")
        await app.settle()
        #expect(shown.ids == ["one", "two"])
    }

    @Test("V32 a control group's campaign is delivered and marked as such")
    func control() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A", control: 100))
        let screen = try app.shownScreen()
        let shown = Shown()
        screen.setCampaignHandler(forTarget: "T", shown.handler)
        screen.trackAction("A")
        await app.settle()
        #expect(shown.campaigns.map(\.isControlGroup) == [true])
        #expect(shown.campaigns.map(\.experience.isControl) == [true])
    }

    @Test("a campaign of one user isn't shown to the next, neither a held one nor one that comes late")
    func otherUser() async throws {
        let app = try await App(campaigns: App.campaign("c", action: "A"), App.campaign("d", action: "B"))
        let shown = Shown()
        app.evergage.userID = "u1"
        try app.global.trackAction("A")
        await app.settle()
        try app.global.trackAction("A")
        app.evergage.userID = "u2"
        try app.global.setCampaignHandler(forTarget: "T", shown.handler)
        await app.settle()
        #expect(shown.ids == [])
        try app.global.trackAction("B")
        await app.settle()
        #expect(shown.ids == ["d"])
    }

    @Test("V36 a screen is active while it is visible and the application is in the foreground")
    func active() async throws {
        let app = try await App()
        let screen = try #require(app.evergage.makeScreen())
        var states = [screen.isActive]
        screen.didAppear()
        states.append(screen.isActive)
        app.evergage.setApplicationState(.background)
        states.append(screen.isActive)
        app.evergage.setApplicationState(.foreground)
        states.append(screen.isActive)
        screen.willDisappear()
        states.append(screen.isActive)
        #expect(states == [false, true, false, true, false])
        #expect(try app.global.isActive)
    }

    @Test("V37 an event of an earlier run requests no campaigns")
    func earlierRun() async throws {
        let store = ClientStore.inMemory()
        let time = ManualTime()
        let first = try await App(store: store, time: time)
        first.goOffline()
        try first.global.trackAction("A")
        await first.settle()
        await first.evergage.client?.shutdown(within: .zero)
        time.advance(by: .seconds(10))
        let second = try await App(store: store, time: time)
        try second.global.trackAction("B")
        await second.settle()
        #expect(second.actions == ["A", "B"])
        #expect(second.transport.events.map { $0["flags"] } == [["noCampaigns": true], nil])
    }

    @Test("an event that waited for more than a minute requests no campaigns")
    func oldEvent() async throws {
        let app = try await App()
        app.goOffline()
        try app.global.trackAction("A")
        await app.settle()
        app.goOnline()
        await app.pass(61)
        #expect(app.transport.events.last?["flags"] == ["noCampaigns": true])
    }

    @Test("a screen's name and waiting targets are sent with its events")
    func source() async throws {
        let app = try await App()
        let screen = try app.shownScreen("Home")
        screen.setCampaignHandler(forTarget: "b") { _ in }
        screen.setCampaignHandler(forTarget: "a") { _ in }
        screen.trackAction("A")
        await app.settle()
        #expect(app.transport.events.first?["source"]?["pageType"] == "Home")
        #expect(app.transport.events.first?["source"]?["contentZones"] == ["a", "b"])
    }

    @Test(
        "a handler that captures its screen doesn't keep it alive after it disappeared, and nothing is left behind"
    )
    func memory() async throws {
        let app = try await App()
        weak var lost: EvergageScreen?
        for _ in 0..<1_000 {
            let screen = try app.shownScreen()
            screen.setCampaignHandler(forTarget: "T") { _ in _ = screen }
            screen.willDisappear()
            lost = screen
        }
        await app.settle()
        #expect(lost == nil)
        #expect(app.evergage.contexts.isEmpty)
    }
}

/// An object that a handler may capture.
private final class Captured: Sendable {}

/// Holds visitors until it is opened.
final class Gate: Sendable {
    private let stream: AsyncStream<Void>
    private let opener: AsyncStream<Void>.Continuation
    private let visitors: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation

    init() {
        (stream, opener) = AsyncStream.makeStream()
        (visitors, bell) = AsyncStream.makeStream()
    }

    func wait() async {
        bell.yield()
        for await _ in stream {}
    }

    func waitForVisitor() async {
        for await _ in visitors { return }
    }

    func open() { opener.finish() }
}
