import Experimentation
import Foundation
import Testing

@testable import EvergageAdapter

@Suite("Content zones of contexts")
@MainActor
struct ZoneTests {
    /// What calls may wait for.
    enum Wait: CaseIterable {
        case start, consent, nothing
    }

    @Test(
        "an event has the targets with handlers at its call, whatever happens to them while it waits",
        arguments: Wait.allCases
    )
    func atTheCall(wait: Wait) async throws {
        let app = try await App(start: wait != .start)
        let screen = try app.shownScreen("Home")
        if wait == .consent { app.evergage.setConsent(.granted) }
        screen.trackAction("none")
        screen.setCampaignHandler(forTarget: "b") { _ in }
        screen.trackAction("one")
        screen.setCampaignHandler(forTarget: "a") { _ in }
        try app.global.trackAction("global")
        screen.trackAction("two")
        screen.setCampaignHandler(forTarget: "b", nil)
        screen.trackAction("other")
        screen.willDisappear()
        screen.setCampaignHandler(forTarget: "c") { _ in }
        try app.global.setCampaignHandler(forTarget: "d") { _ in }
        if wait == .start { app.evergage.start(.test) }
        await app.settle()
        #expect(app.actions == ["none", "one", "global", "two", "other"])
        let zones = app.transport.events.map { $0["source"]?["contentZones"] }
        #expect(zones == [nil, ["b"], nil, ["a", "b"], ["a"]])
    }

    @Test("targets with handlers in the session count too, even while calls wait", arguments: [false, true])
    func ofTheSession(isWaiting: Bool) async throws {
        let app = try await App()
        try app.evergage.session?.setCampaignHandler(forTarget: "hero") { _ in }
        if isWaiting { app.evergage.setConsent(.granted) }
        try app.global.trackAction("A")
        try app.evergage.session?.setCampaignHandler(forTarget: "later") { _ in }
        await app.settle()
        #expect(app.transport.events.map { $0["source"]?["contentZones"] } == [["hero"]])
    }

    @Test("a launch has the targets of the global context at the start")
    func launch() async throws {
        let app = try await App(lifecycle: true, start: false)
        try app.global.setCampaignHandler(forTarget: "a") { _ in }
        app.evergage.start(.test)
        try app.global.setCampaignHandler(forTarget: "b") { _ in }
        await app.settle()
        #expect(app.actions == ["App Install", "App Launch"])
        #expect(app.transport.events.map { $0["source"]?["contentZones"] } == [["a"], ["a"]])
    }
}
