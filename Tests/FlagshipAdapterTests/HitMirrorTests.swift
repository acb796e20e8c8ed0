import Experimentation
import ExperimentationTesting
import Foundation
import Testing
import Waiting

@testable import FlagshipAdapter

/// A cache of which one call waits at a gate, each time until the gate is open.
struct HeldCache: FlagshipHitCache {
    let own = OwnCache()
    let gate = AsyncGate()
    let holdsWriting: Bool
    var holdsFlushing = false

    func cacheHits(_ hits: [String: FlagshipHitRecord]) async {
        if holdsWriting { await gate.wait() }
        await own.cacheHits(hits)
    }

    func lookupHits() async -> [String: FlagshipHitRecord] { await own.lookupHits() }

    func flushHits(_ ids: [String]) async {
        if holdsFlushing { await gate.wait() }
        await own.flushHits(ids)
    }

    func flushAllHits() async {
        if !holdsWriting { await gate.wait() }
        await own.flushAllHits()
    }
}

@Suite("Flagship: the mirror of the outbox in an application's cache", .timeLimit(.minutes(10)))
struct HitMirrorTests {
    private static func mirror(
        _ strategy: FlagshipOptions.Tracking.Strategy,
        in cache: any FlagshipHitCache,
        lookUpOthers: FlagshipHitMirror.LookUp? = nil
    ) -> FlagshipHitMirror {
        FlagshipHitMirror(
            cache,
            strategy: strategy,
            environmentID: Bench.environmentID,
            lookUpOthers: lookUpOthers,
            holding: [],
            dropped: 0
        )
    }

    private static let hits = ["ada", "ben"].map {
        Envelope(id: $0, identity: Identity(id: $0), event: .screenView($0), date: ManualTime().now)
    }

    @Test("periodic: a hit that is removed while the cache is rewritten isn't written back")
    func removedDuringRewrite() async throws {
        let cache = HeldCache(holdsWriting: false)
        defer { cache.gate.open() }
        let mirror = Self.mirror(.periodicCaching, in: cache)
        mirror.expect(Self.hits)
        await mirror.accept(["ada", "ben"], of: Self.hits)
        let delivered = Task { await mirror.remove(["ada"]) }
        try await eventually("the cache is emptied") { cache.gate.waiting == 1 }
        let denied = Task { await mirror.remove { $0.identity.id == "ben" } }
        try await eventually("the denied hit no longer waits") { mirror.waiting.isEmpty }
        for _ in 0..<100 { await Task.yield() }
        cache.gate.open()
        await delivered.value
        await denied.value
        #expect(cache.own.hits.isEmpty)
    }

    @Test("continuous: a hit that is delivered while it is being cached doesn't stay in the cache")
    func removedDuringWriting() async throws {
        let cache = HeldCache(holdsWriting: true)
        defer { cache.gate.open() }
        let mirror = Self.mirror(.continuousCaching, in: cache)
        mirror.expect(Self.hits)
        let accepted = Task { await mirror.accept(["ada", "ben"], of: Self.hits) }
        try await eventually("the hits are being cached") { cache.gate.waiting == 1 }
        let delivered = Task { await mirror.remove(["ada"]) }
        try await eventually("the hit no longer waits") { mirror.waiting.map(\.id) == ["ben"] }
        for _ in 0..<100 { await Task.yield() }
        cache.gate.open()
        await accepted.value
        await delivered.value
        #expect(Array(cache.own.hits.keys) == ["ben"])
    }

    @Test("a hit of a visitor who consents again while the denial is carried out stays in the cache")
    func consentedAgain() async throws {
        let cache = HeldCache(holdsWriting: false, holdsFlushing: true)
        defer { cache.gate.open() }
        let mirror = Self.mirror(.continuousCaching, in: cache) { [own = cache.own] in await own.lookupHits() }
        mirror.expect(Self.hits)
        await mirror.accept(["ada", "ben"], of: Self.hits)
        let denied = Task { await mirror.remove(of: [ExactText("ada")]) }
        try await eventually("the denied hit is being deleted") { cache.gate.waiting == 1 }
        let again = Envelope(
            id: "again",
            identity: Identity(id: "ada"),
            event: .screenView("again"),
            date: ManualTime().now
        )
        mirror.expect([again])
        let accepted = Task { await mirror.accept(["again"], of: [again]) }
        try await eventually("the new hit waits") { mirror.waiting.count == 2 }
        for _ in 0..<100 { await Task.yield() }
        cache.gate.open()
        await denied.value
        await accepted.value
        #expect(cache.own.hits.keys.sorted() == ["again", "ben"])
    }

    @Test(
        "a hit that is gone before the outbox says that it was accepted isn't cached",
        arguments: FlagshipOptions.Tracking.Strategy.allCases
    )
    func goneBeforeAccepted(strategy: FlagshipOptions.Tracking.Strategy) async {
        let cache = OwnCache()
        let mirror = Self.mirror(strategy, in: cache)
        mirror.expect(Self.hits)
        await mirror.remove(["ada"])
        await mirror.accept(["ada", "ben"], of: Self.hits)
        await mirror.write()
        #expect(Array(cache.hits.keys) == ["ben"])
    }

    @Test("periodic: an unchanged cache isn't rewritten")
    func unchanged() async {
        let cache = OwnCache()
        let mirror = Self.mirror(.periodicCaching, in: cache)
        mirror.expect(Self.hits)
        await mirror.accept(["ada", "ben"], of: Self.hits)
        for _ in 0..<3 { await mirror.write() }
        await mirror.remove { _ in false }
        #expect(cache.calls == ["flushAllHits", "cacheHits 2"])
    }
}
