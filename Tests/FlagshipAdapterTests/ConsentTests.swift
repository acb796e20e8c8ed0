import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Synchronization
import Testing
import Waiting

@testable import FlagshipAdapter

@Suite("Flagship: consent", .timeLimit(.minutes(10)))
struct ConsentTests {
    /// What the vendor received: consents by label, screens by name.
    static func told(_ bench: Bench) async -> [FlagValue] {
        await bench.hits.compactMap { $0["el"] ?? $0["dl"] }
    }

    @Test("a visitor built without consent removes an earlier run's events before any of them is sent")
    func builtWithoutConsent() async throws {
        let bench = try await Bench()
        bench.transport.fail("hits", .error(.transport), times: 10)
        let first = await bench.flagship()
        let visitor = await first.newVisitor("ada", hasConsented: true).build()
        await visitor.sendHit(.screen("earlier"))
        await first.close()
        bench.transport.heal()

        let second = await bench.flagship()
        try await second.client?.flush()
        #expect(await Self.told(bench) == [], "consent hasn't been stated yet")
        _ = await second.newVisitor("ada", hasConsented: false).build()
        try await eventually("both signals, and nothing else") {
            try await second.client?.waitingEvents().map(\.envelope.event.isConsentSignal) == [true, true]
        }
        try await second.client?.flush()
        #expect(await Self.told(bench) == ["iOS:true", "iOS:false"])
    }

    @Test("other visitors' events of an earlier run are sent when the first visitor is built")
    func othersGoOut() async throws {
        let bench = try await Bench()
        bench.transport.fail("hits", .error(.transport), times: 10)
        let first = await bench.flagship()
        await first.newVisitor("ada", hasConsented: true).build().sendHit(.screen("earlier"))
        await first.close()
        bench.transport.heal()
        let second = await bench.flagship()
        _ = await second.newVisitor("ben", hasConsented: false).build()
        try await second.client?.flush()
        #expect(await Self.told(bench) == ["iOS:true", "earlier", "iOS:false"])
    }

    @Test("consent withdrawn after closing removes waiting events, whoever the next run's first visitor is")
    func afterClosing() async throws {
        let bench = try await Bench()
        bench.transport.fail("hits", .error(.transport), times: 10)
        let first = await bench.flagship()
        let visitor = await first.newVisitor("ada", hasConsented: true).build()
        await visitor.sendHit(.screen("earlier"))
        await first.close()
        await visitor.setConsent(false)
        bench.transport.heal()
        let second = await bench.flagship()
        _ = await second.newVisitor("ben", hasConsented: true).build()
        try await second.client?.flush()
        #expect(await !Self.told(bench).contains("earlier"))
    }

    @Test("each environment that shares a store is notified of a visitor's consent once")
    func environments() async throws {
        let bench = try await Bench()
        bench.transport.fail("hits", .status(204), times: 10)
        let environments = [Bench.environmentID, "ckk9glocmjcg0vtmdlng"]
        for id in environments + environments {
            let flagship = await bench.flagship(environmentID: id)
            _ = await flagship.newVisitor("ada", hasConsented: true).build()
            try await flagship.client?.flush()
            await flagship.close()
        }
        #expect(bench.transport.exchanges("hits").map { $0.json["cid"] } == environments.map { .string($0) })
    }

    @Test("each visitor object of a visitor without consent notifies the vendor, but with consent only the first does")
    func objects() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        for hasConsented in [false, false, true, true] {
            _ = await flagship.newVisitor("ada", hasConsented: hasConsented).build()
            try await flagship.client?.flush()
        }
        #expect(await Self.told(bench) == ["iOS:false", "iOS:false", "iOS:true"])
    }

    @Test("consent withdrawn after signing in removes events from before it as well")
    func afterSigningIn() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("anon", hasConsented: true).build()
        await visitor.fetchFlags()
        try await flagship.client?.flush()
        await visitor.sendHit(.screen("before"))
        visitor.flag("cta").visitorExposed()
        visitor.authenticate("ada")
        await visitor.sendHit(.screen("after"))
        await visitor.setConsent(false)
        try await flagship.client?.flush()
        #expect(await Self.told(bench) == ["iOS:true", "iOS:false"])
        #expect(await bench.mock.receivedActivations.isEmpty)
        #expect(await flagship.visitors.lookupVisitor("anon") == nil)
        await visitor.setConsent(true)
        visitor.unauthenticate()
        #expect(await visitor.sendHit(.screen("again")))
    }

    @Test(
        "a consent that couldn't be delivered in time is sent by a later run, and one that still waits isn't sent twice",
        arguments: [Duration.seconds(3 * 3_600), .seconds(5 * 3_600)]
    )
    func undelivered(pause: Duration) async throws {
        let bench = try await Bench()
        bench.transport.fail("hits", .error(.transport), times: 50)
        let first = await bench.flagship()
        _ = await first.newVisitor("ada", hasConsented: true).build()
        await first.close()
        bench.time.advance(by: pause)
        bench.transport.heal()
        for _ in 0..<2 {
            let flagship = await bench.flagship()
            _ = await flagship.newVisitor("ada", hasConsented: true).build()
            try await flagship.client?.flush()
            await flagship.close()
        }
        #expect(await Self.told(bench) == ["iOS:true"])
    }

    @Test("a consent stated again is sent once if the visitor has another id, and not if it hasn't")
    func statedAgain() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("anon", hasConsented: true).build()
        await visitor.setConsent(true)
        visitor.authenticate("ada")
        for _ in 0..<2 { await visitor.setConsent(true) }
        try await flagship.client?.flush()
        let told = await bench.hits.compactMap { ($0["cuid"] ?? $0["vid"])?.stringValue }
        #expect(told.sorted() == ["ada", "anon"])
    }

    @Test("a consent stated again is sent if the earlier signal couldn't be delivered in time")
    func statedAgainLate() async throws {
        let bench = try await Bench()
        bench.transport.fail("hits", .error(.transport), times: 50)
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        bench.time.advance(by: .seconds(5 * 3_600))
        bench.transport.heal()
        await visitor.setConsent(true)
        for _ in 0..<200 where try await flagship.client?.ledger().pending != 0 {
            bench.time.advance(by: .seconds(120))
            _ = try? await flagship.client?.flush(retrying: false)
            await Task.yield()
        }
        #expect(await Self.told(bench) == ["iOS:true"])
    }

    @Test("a delivered refusal ends the consent known to the vendor, even if a crash kept the consent's note")
    func deliveredRefusal() async throws {
        let bench = try await Bench()
        let notes = FlagshipConsentNotes(
            state: bench.store.state,
            environmentID: Bench.environmentID,
            time: bench.time
        )
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: false).build()
        await notes.tell("ada", true)
        try await flagship.client?.flush()
        #expect(await notes.isKnown("ada", at: bench.time.now) == false)
        await visitor.setConsent(true)
        try await flagship.client?.flush()
        #expect(await Self.told(bench) == ["iOS:false", "iOS:true"])
        #expect(await notes.isKnown("ada", at: bench.time.now + 86_400))
    }

    @Test("a request that is repeated after consent was withdrawn says so")
    func repeatedQuestion() async throws {
        let bench = try await Bench()
        let client = try await bench.client { $0.retry = HTTPRetry(attempts: 2) }
        let session = client.session(for: User(id: "ada", consent: .granted))
        bench.transport.fail("campaigns", .error(.transport))
        let refresh = Task { try await session.refresh() }
        try await eventually("the first attempt to have failed") {
            bench.transport.exchanges("campaigns").count == 1 && bench.time.untilNextWake != nil
        }
        try await session.setConsent(.denied)
        try await eventually("the second attempt") {
            if let wait = bench.time.untilNextWake, wait < .seconds(2) { bench.time.advance(by: wait) }
            return bench.transport.exchanges("campaigns").count == 2
        }
        _ = try? await refresh.value
        #expect(bench.transport.exchanges("campaigns").map { $0.json["visitor_consent"] } == [true, false])
    }

    @Test("withdrawing consent stops new and waiting hits, before the application's cache has deleted the visitor")
    func slowCache() async throws {
        let bench = try await Bench()
        let cache = SlowFlushing()
        defer { cache.gate.open() }
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(visitors: cache) }
        let visitor = await flagship.newVisitor("anon", hasConsented: true).build()
        try await flagship.client?.flush()
        await visitor.sendHit(.screen("before"))
        visitor.authenticate("ada")
        await visitor.sendHit(.screen("after"))
        let withdrawing = Task { await visitor.setConsent(false) }
        try await eventually("the cache is asked to delete the visitor") { cache.gate.waiting == 1 }
        #expect(await visitor.sendHit(.screen("later")) == false)
        try await flagship.client?.flush()
        #expect(await Self.told(bench) == ["iOS:true", "iOS:false"])
        cache.gate.open()
        await withdrawing.value
    }

    @Test(
        "a visitor built in panic notifies the vendor of its consent when consent is stated later",
        arguments: [true, false]
    )
    func builtInPanic(hasConsented: Bool) async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        await bench.mock.setPanic(true)
        await flagship.newVisitor("scout", hasConsented: true).build().fetchFlags()
        #expect(flagship.status == .panic)
        let visitor = await flagship.newVisitor("ada", hasConsented: hasConsented).build()
        await bench.mock.setPanic(false)
        await visitor.fetchFlags()
        for _ in 0..<2 { await visitor.setConsent(hasConsented) }
        try await flagship.client?.flush()
        #expect(await bench.hits.map { $0["vid"] } == ["scout", "ada"])
        #expect(await Self.told(bench) == ["iOS:true", .string("iOS:\(hasConsented)")])
    }

    /// Rejects consent signals while a test wants it to.
    final class Refusing: OutboxStoreDecorator {
        let base: any OutboxStore
        let isRefusing = Atomic(true)
        init(_ base: any OutboxStore) { self.base = base }

        func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
            if isRefusing.load(ordering: .relaxed), events.contains(where: \.envelope.event.isConsentSignal) {
                throw ExperimentationError(.store, "as the test wants it")
            }
            return try await base.append(events, now: now)
        }
    }

    @Test("a consent that couldn't be reported is reported later, by the same call or by the next visitor")
    func untold() async throws {
        let bench = try await Bench()
        let refusing = Refusing(bench.store.outbox)
        let store = ClientStore(outbox: refusing, state: bench.store.state)
        let flagship = await bench.flagship(store: store)
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.setConsent(true)
        refusing.isRefusing.store(false, ordering: .relaxed)
        _ = await flagship.newVisitor("ada", hasConsented: true).build()
        try await flagship.client?.flush()
        #expect(await Self.told(bench) == ["iOS:true"])
        _ = await flagship.newVisitor("ada", hasConsented: true).build()
        try await flagship.client?.flush()
        #expect(await Self.told(bench) == ["iOS:true"])

        refusing.isRefusing.store(true, ordering: .relaxed)
        await visitor.setConsent(false)
        #expect(await visitor.sendHit(.screen("no")) == false)
        refusing.isRefusing.store(false, ordering: .relaxed)
        await visitor.setConsent(false)
        try await flagship.client?.flush()
        #expect(await Self.told(bench) == ["iOS:true", "iOS:false"])
    }
}
