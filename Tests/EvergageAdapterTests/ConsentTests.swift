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

    @Test("attributes that are set during a denial are not sent after it")
    func attributes() async throws {
        let app = try await App()
        app.evergage.setConsent(.denied)
        app.evergage.setUserAttribute("gold", forName: "tier")
        app.evergage.setAccountAttribute("retail", forName: "trade")
        await app.settle()
        app.evergage.setConsent(.granted)
        app.evergage.setUserAttribute("fr", forName: "language")
        try app.global.trackAction("A")
        await app.settle()
        #expect(app.transport.events.map { $0["user"]?["attributes"] } == [["language": "fr"]])
        #expect(app.transport.events.map { $0["account"] } == [nil])
    }

    @Test("a denial covers the device as well as its user, and removes every user's waiting events")
    func everyone() async throws {
        let app = try await App()
        let client = try #require(app.evergage.client)
        app.evergage.setConnectivity(.offline)
        await app.settle()
        for user in [nil, "u-1", "u-2"] {
            app.evergage.userID = user
            try app.global.trackAction("A")
        }
        await app.settle()
        app.evergage.setConsent(.denied)
        app.evergage.setConnectivity(.online)
        await app.settle()
        #expect(app.actions == [])
        #expect(try await client.ledger() == Ledger(accepted: 3, purged: 3))
        for id in ["anon-1", "u-2"] {
            let refusal = await #expect(throws: ExperimentationError.self) {
                try await client.track(.custom("B"), for: User(id: id))
            }
            #expect(refusal?.code == .consentDenied)
        }
    }

    @Test("a denial covers its user even if another one signs in at once")
    func signedOut() async throws {
        let app = try await App()
        let client = try #require(app.evergage.client)
        app.evergage.userID = "u-1"
        app.evergage.setConsent(.denied)
        app.evergage.userID = "u-2"
        await app.settle()
        for id in ["anon-1", "u-1", "u-2"] {
            let refusal = await #expect(throws: ExperimentationError.self) {
                try await client.track(.custom("A"), for: User(id: id))
            }
            #expect(refusal?.code == .consentDenied)
        }
    }

    @Test("consent holds after a restart, for whoever signs in, and a denial until consent is given")
    func restart() async throws {
        let store = ClientStore.inMemory()
        let first = try await App(store: store)
        first.evergage.userID = "u-1"
        first.evergage.setConsent(.denied)
        await first.settle()
        let second = try await App(lifecycle: true, start: false, store: store)
        second.evergage.setUserAttribute("gold", forName: "tier")
        try second.global.trackAction("A")
        second.evergage.start(.test)
        await second.settle()
        second.evergage.setConsent(.unknown)
        second.evergage.userID = "u-2"
        try second.global.trackAction("B")
        await second.settle()
        #expect(second.actions == [])
        second.evergage.setConsent(.granted)
        await second.settle()
        try second.global.trackAction("C")
        await second.settle()
        #expect(second.transport.events.map { $0["action"] } == ["C"])
        #expect(second.transport.events.map { $0["user"] } == [["id": "u-2", "anonId": "anon-1"]])
        let third = try await App(store: store)
        third.evergage.userID = "u-1"
        try third.global.trackAction("D")
        await third.settle()
        #expect(third.actions == ["D"])
    }

    @Test(
        "consent that was given isn't withdrawn by setting it to unknown, before the start or after it",
        arguments: [true, false]
    )
    func nothingStated(isStarted: Bool) async throws {
        let store = ClientStore.inMemory()
        let first = try await App(store: store)
        first.evergage.userID = "u-1"
        first.evergage.setConsent(.denied)
        await first.settle()
        let second = try await App(start: isStarted, store: store)
        second.evergage.setConsent(.granted)
        second.evergage.setConsent(.unknown)
        second.evergage.start(.test)
        try second.global.trackAction("A")
        await second.settle()
        second.evergage.userID = "u-1"
        try second.global.trackAction("B")
        await second.settle()
        #expect(second.actions == ["A", "B"])
        let third = try await App(store: store)
        third.evergage.userID = "u-1"
        try third.global.trackAction("C")
        await third.settle()
        #expect(third.actions == ["C"])
    }

    @Test("a denial before the start removes events of an earlier run")
    func beforeTheStart() async throws {
        let store = ClientStore.inMemory()
        let first = try await App(store: store)
        first.evergage.setConnectivity(.offline)
        await first.settle()
        first.evergage.userID = "u-1"
        try first.global.trackAction("A")
        await first.settle()
        await first.evergage.client?.shutdown(within: .zero)
        let second = try await App(start: false, store: store)
        second.evergage.setConsent(.denied)
        second.evergage.start(.test)
        await second.settle()
        #expect(second.actions == [])
        #expect(try await second.evergage.client?.ledger() == Ledger(accepted: 1, purged: 1))
    }

    @Test("a denial waits for no delivery, whether the application moves to the background or back")
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

    @Test("events after a denial that is withdrawn before the start has ended are sent")
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
