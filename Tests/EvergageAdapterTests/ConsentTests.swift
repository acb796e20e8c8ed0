import Experimentation
import Testing
import Waiting

@testable import EvergageAdapter

@Suite("Consent")
@MainActor
struct ConsentTests {
    @Test("after a user denies consent nothing more is sent, and nothing is left behind, also after a restart")
    func denial() async throws {
        let store = ClientStore.inMemory()
        let app = try await App(lifecycle: true, store: store)
        app.evergage.setConnectivity(.offline)
        await app.settle()
        try app.global.trackAction("A")
        app.evergage.setUserAttribute("gold", forName: "tier")
        await app.settle()
        app.evergage.setConsent(.denied)
        try app.global.trackAction("B")
        app.evergage.setApplicationState(.background)
        app.evergage.setConnectivity(.online)
        await app.settle()
        #expect(app.actions == ["App Install", "App Launch"])
        #expect(try await app.evergage.client?.ledger().purged == 1)
        let next = try await App(lifecycle: true, store: store)
        try next.global.trackAction("C")
        await next.settle()
        #expect(next.actions == [])
        next.evergage.setConsent(.granted)
        try next.global.trackAction("D")
        await next.settle()
        #expect(next.actions == ["D"])
        #expect(next.transport.events.first?["user"]?["attributes"] == nil)
    }

    @Test("a user who denies consent before the start sends nothing from before")
    func earlyDenial() async throws {
        let app = try await App(lifecycle: true, start: false)
        app.evergage.globalContext?.trackAction("A")
        app.evergage.setConsent(.denied)
        app.evergage.start(.test)
        await app.settle()
        #expect(app.transport.sent.isEmpty)
        #expect(app.complaints(.error) == [])
        app.evergage.setConsent(.granted)
        try app.global.trackAction("B")
        await app.settle()
        #expect(app.actions == ["B"])
    }

    @Test("a denial waits for no delivery, neither on the way to the background nor on the way back")
    func denialWhileSending() async throws {
        let app = try await App()
        let client = try #require(app.evergage.client)
        let gate = Turnstile()
        app.transport.setDetour { _, _ throws(ExperimentationError) in
            await gate.pass()
            return nil
        }
        try app.global.trackAction("A")
        try app.global.trackAction("B")
        app.evergage.setApplicationState(.background)
        try await gate.isReached()
        app.evergage.setApplicationState(.foreground)
        app.evergage.setConsent(.denied)
        try await eventually("the denial is carried out") { try await client.ledger().purged == 2 }
        gate.open()
        await app.settle()
        #expect(app.actions == ["A"])
    }

    @Test("what follows a denial that is taken back before the start has ended is sent")
    func takenBack() async throws {
        let app = try await App(start: false)
        app.evergage.setConnectivity(.offline)
        app.evergage.start(.test)
        app.evergage.setConsent(.denied)
        app.evergage.setConsent(.granted)
        app.evergage.globalContext?.trackAction("A")
        await app.settle()
        #expect(try await app.evergage.client?.ledger() == Ledger(accepted: 1, pending: 1))
        app.evergage.setConnectivity(.online)
        await app.settle()
        #expect(app.actions == ["A"])
    }
}
