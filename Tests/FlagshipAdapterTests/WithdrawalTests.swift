import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Synchronization
import Testing
import Waiting

@testable import FlagshipAdapter

@Suite("Flagship: consent is withdrawn while something else is in progress", .timeLimit(.minutes(10)))
struct WithdrawalTests {
    /// Holds back every read after ``hold()``, until the gate opens.
    final class HeldReads: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let gate = AsyncGate()
        private let isHolding = Atomic(false)

        func hold() { isHolding.store(true, ordering: .relaxed) }

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            if isHolding.load(ordering: .relaxed) { await gate.wait() }
            return try await baseState.value(for: key)
        }
    }

    /// Stores visitors once a gate opens.
    final class SlowStoring: FlagshipVisitorCache {
        let gate = AsyncGate()
        let cache = OwnCache()

        func cacheVisitor(_ visitorID: String, _ record: Data) async {
            await gate.wait()
            await cache.cacheVisitor(visitorID, record)
        }
        func lookupVisitor(_ visitorID: String) async -> Data? { await cache.lookupVisitor(visitorID) }
        func flushVisitor(_ visitorID: String) async { await cache.flushVisitor(visitorID) }
    }

    /// A statement that waits for the store, and a withdrawal that waits for that statement.
    final class Pending: Sendable {
        let store = HeldReads()
        let flagship: Flagship
        private let outbox = InMemoryOutboxStore()
        private let statements = Mutex<[Task<Void, Never>]>([])

        init(_ bench: Bench) async {
            flagship = await bench.flagship(store: ClientStore(outbox: outbox, state: store))
        }

        func withdraw(from visitor: FlagshipVisitor) async throws {
            store.hold()
            let giving = Task { await visitor.setConsent(true) }
            try await eventually("the consent waits for the store") { store.gate.waiting > 0 }
            let withdrawing = Task { await visitor.setConsent(false) }
            try await eventually("the consent is withdrawn") { !visitor.hasConsented }
            statements.withLock { $0 = [giving, withdrawing] }
        }

        func letGo() async {
            store.gate.open()
            for statement in statements.withLock({ $0 }) { await statement.value }
        }
    }

    @Test("from the call on no hit and no exposure is accepted, and the exposure is sent after a later consent")
    func fromTheCall() async throws {
        let bench = try await Bench()
        let waiting = await Pending(bench)
        defer { waiting.store.gate.open() }
        let visitor = await waiting.flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        try await waiting.flagship.client?.flush()
        try await waiting.withdraw(from: visitor)
        #expect(await visitor.sendHit(.screen("later")) == false)
        #expect(visitor.flag("cta").value(default: "") == "new")
        await waiting.letGo()
        try await waiting.flagship.client?.flush()
        #expect(bench.transport.exchanges("activate").isEmpty)
        await visitor.setConsent(true)
        #expect(visitor.flag("cta").value(default: "") == "new")
        try await waiting.flagship.client?.flush()
        #expect(bench.transport.exchanges("activate").count == 1)
    }

    @Test(
        "a withdrawal covers the ids of the call, whoever the visitor is once it is carried out",
        arguments: [nil, "ben"]
    )
    func formerIDs(next: String?) async throws {
        let bench = try await Bench()
        let waiting = await Pending(bench)
        defer { waiting.store.gate.open() }
        let visitor = await waiting.flagship.newVisitor("anon", hasConsented: true).build()
        try await waiting.flagship.client?.flush()
        visitor.authenticate("ada")
        await visitor.sendHit(.screen("ada's"))
        try await waiting.withdraw(from: visitor)
        if let next { visitor.authenticate(next) } else { visitor.unauthenticate() }
        await waiting.letGo()
        try await waiting.flagship.client?.flush()
        #expect(await !ConsentTests.told(bench).contains("ada's"))
        #expect(visitor.session?.user.consent == .denied)
    }

    @Test("consent that follows under another id doesn't keep the earlier id's hits")
    func consentUnderAnotherID() async throws {
        let bench = try await Bench()
        let waiting = await Pending(bench)
        defer { waiting.store.gate.open() }
        let visitor = await waiting.flagship.newVisitor("anon", hasConsented: true).build()
        try await waiting.flagship.client?.flush()
        visitor.authenticate("ada")
        await visitor.sendHit(.screen("ada's"))
        try await waiting.withdraw(from: visitor)
        visitor.unauthenticate()
        let giving = Task { await visitor.setConsent(true) }
        try await eventually("the visitor consents again") { visitor.hasConsented }
        await waiting.letGo()
        await giving.value
        #expect(await visitor.sendHit(.screen("after")))
        try await waiting.flagship.client?.flush()
        let told = await ConsentTests.told(bench)
        #expect(!told.contains("ada's"))
        #expect(told.contains("after"))
    }

    @Test("a fetch stores nothing of a visitor who has withdrawn through another visitor object")
    func anotherObject() async throws {
        let bench = try await Bench()
        let cache = OwnCache()
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(visitors: cache) }
        let first = await flagship.newVisitor("ada", hasConsented: true).build()
        await first.fetchFlags()
        #expect(cache.visitors.keys.contains("ada"))
        _ = await flagship.newVisitor("ada", hasConsented: false).build()
        await first.fetchFlags()
        #expect(first.fetchStatus == .fetched)
        #expect(cache.visitors.isEmpty)
    }

    @Test("data that a cache was storing meanwhile is deleted, even if consent was given again")
    func slowStoring() async throws {
        let bench = try await Bench()
        let slow = SlowStoring()
        defer { slow.gate.open() }
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(visitors: slow) }
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        let fetching = Task { await visitor.fetchFlags() }
        try await eventually("the cache is storing the visitor") { slow.gate.waiting == 1 }
        await visitor.setConsent(false)
        await visitor.setConsent(true)
        slow.gate.open()
        await fetching.value
        #expect(slow.cache.visitors.isEmpty)
    }

    @Test("a variation seen at the moment of the withdrawal isn't remembered, so it counts after another consent")
    func seenAtThatMoment() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        let isOver = Atomic(false)
        async let reading: Void = Task {
            while !isOver.load(ordering: .relaxed) { visitor.expose("cta", default: nil) }
        }.value
        for _ in 0..<500 {
            await visitor.setConsent(true)
            await visitor.setConsent(false)
        }
        isOver.store(true, ordering: .relaxed)
        await reading
        try await flagship.client?.flush()
        let count = bench.transport.exchanges("activate").count
        await visitor.setConsent(true)
        visitor.expose("cta", default: nil)
        try await flagship.client?.flush()
        #expect(bench.transport.exchanges("activate").count == count + 1)
    }

    @Test("a withdrawal under an earlier id is carried out for the exposures under it, too")
    func exposuresUnderAnEarlierID() async throws {
        let bench = try await Bench()
        let waiting = await Pending(bench)
        defer { waiting.store.gate.open() }
        let visitor = await waiting.flagship.newVisitor("anon", hasConsented: true).build()
        visitor.authenticate("ada")
        await visitor.fetchFlags()
        visitor.expose("cta", default: nil)
        try await waiting.withdraw(from: visitor)
        visitor.unauthenticate()
        let giving = Task { await visitor.setConsent(true) }
        try await eventually("the visitor consents again") { visitor.hasConsented }
        await waiting.letGo()
        await giving.value
        visitor.authenticate("ada")
        await visitor.setConsent(true)
        await visitor.fetchFlags()
        visitor.expose("cta", default: nil)
        try await waiting.flagship.client?.flush()
        #expect(await bench.mock.receivedActivations.map(\.visitor) == ["ada"])
    }

    @Test(
        "the vendor is notified when a visitor who signed in without consent withdraws under an id that had consented"
    )
    func afterSigningIn() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        _ = await flagship.newVisitor("ada", hasConsented: true).build()
        let visitor = await flagship.newVisitor("anon", hasConsented: false).build()
        visitor.authenticate("ada")
        try await flagship.client?.flush()
        await visitor.setConsent(false)
        await visitor.setConsent(false)
        try await flagship.client?.flush()
        #expect(await ConsentTests.told(bench).filter { $0 == "iOS:false" }.count == 2)
    }
}
