import ConformanceKit
import Experimentation
import ExperimentationTesting
import FlagshipAdapter
import Foundation
import Synchronization
import Testing
import Waiting

@Suite("An outbox that is mirrored in an application's cache follows the contract")
struct HitCacheContractTests {
    @Test(
        "it follows every rule of the outbox, whichever way it writes the cache",
        arguments: [FlagshipOptions.Tracking.Strategy.continuousCaching, .periodicCaching]
    )
    func contract(strategy: FlagshipOptions.Tracking.Strategy) async {
        let report = await OutboxStoreContract.run(
            over: StoreBench { size in
                let store = await FlagshipHitCacheStore(
                    InMemoryOutboxStore(maximumCount: size.maximumCount, maximumEventBytes: size.maximumEventBytes),
                    mirroredIn: FlagshipCaches(hits: OwnCache()),
                    strategy: strategy,
                    environmentID: Bench.environmentID,
                    owedTo: Destination(provider: "flagship", account: "one"),
                    time: SystemTime()
                )
                return try #require(store)
            }
        )
        #expect(report.failures == [])
        #expect(report.run == OutboxStoreContract.cases(features: [.limited]).map(\.id))
    }

    private static let destination = Destination(provider: "flagship", account: "one")

    /// A store with a hit of each of two visitors, and its cache.
    private static func filled(
        _ strategy: FlagshipOptions.Tracking.Strategy,
        _ time: ManualTime,
        users: [String] = ["ada", "ben"],
        maximumCount: Int = .max
    ) async throws -> (FlagshipHitCacheStore, OwnCache) {
        let cache = OwnCache()
        let store = try await store(strategy, time, maximumCount: maximumCount, mirroredIn: cache)
        try await append(users, to: store, time)
        return (store, cache)
    }

    private static func store(
        _ strategy: FlagshipOptions.Tracking.Strategy,
        _ time: ManualTime,
        maximumCount: Int = .max,
        mirroredIn cache: any FlagshipHitCache
    ) async throws -> FlagshipHitCacheStore {
        try #require(
            await FlagshipHitCacheStore(
                InMemoryOutboxStore(maximumCount: maximumCount),
                mirroredIn: FlagshipCaches(hits: cache),
                strategy: strategy,
                environmentID: Bench.environmentID,
                owedTo: destination,
                time: time
            )
        )
    }

    private static func append(_ users: [String], to store: FlagshipHitCacheStore, _ time: ManualTime) async throws {
        let envelopes = users.enumerated().map { index, user in
            Envelope(id: "\(index)", identity: Identity(id: user), event: .screenView(user), date: time.now)
        }
        _ = try await store.append(envelopes.map { NewEvent($0, to: destination) }, now: time.now)
    }

    @Test(
        "a withdrawal removes no hit of a visitor whose id is only equivalent in Unicode",
        arguments: FlagshipOptions.Tracking.Strategy.allCases
    )
    func equivalentIDs(strategy: FlagshipOptions.Tracking.Strategy) async throws {
        let (store, cache) = try await Self.filled(strategy, ManualTime(), users: ["\u{E9}", "e\u{301}"])
        _ = try await store.setConsent([ConsentChange(userID: "e\u{301}", isGranted: false)])
        #expect(Array(cache.hits.keys) == ["0"])
    }

    @Test(
        "events that a full outbox drops leave a small cache at once, and any cache when the client ends at the latest",
        arguments: FlagshipOptions.Tracking.Strategy.allCases
    )
    func fullOutbox(strategy: FlagshipOptions.Tracking.Strategy) async throws {
        let time = ManualTime()
        let users = ["ada", "ben", "cleo", "dan", "eve"]
        let (store, cache) = try await Self.filled(strategy, time, users: users, maximumCount: 2)
        if strategy == .continuousCaching { #expect(cache.screens == ["dan", "eve"]) }
        let lease = try await Self.lease(store, owner: 1, time)
        try await store.release(lease.token, pause: nil, now: time.now)
        #expect(cache.screens == ["dan", "eve"])

        let many = (0..<100).map { "user-\($0)" }
        let (large, its) = try await Self.filled(strategy, time, users: many, maximumCount: 99)
        try await large.finishErasing()
        #expect(Set(many.map { FlagValue.string($0) }).subtracting(its.screens) == ["user-0"])
    }

    /// An outbox that carries out a denial at once, but says so only once a gate opens.
    private struct SlowDenial: OutboxStoreDecorator {
        let base: any OutboxStore = InMemoryOutboxStore()
        let gate = AsyncGate()

        func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
            let outcome = try await base.setConsent(changes)
            if changes.contains(where: { !$0.isGranted }) { await gate.wait() }
            return outcome
        }
    }

    @Test(
        "a hit after another consent stays in the cache, though the denial before it is slow to return",
        arguments: FlagshipOptions.Tracking.Strategy.allCases
    )
    func slowDenial(strategy: FlagshipOptions.Tracking.Strategy) async throws {
        let (time, cache, slow) = (ManualTime(), OwnCache(), SlowDenial())
        defer { slow.gate.open() }
        let store = try #require(
            await FlagshipHitCacheStore(
                slow,
                mirroredIn: FlagshipCaches(hits: cache),
                strategy: strategy,
                environmentID: Bench.environmentID,
                owedTo: Self.destination,
                time: time
            )
        )
        try await Self.append(["ada"], to: store, time)
        let denying = Task { try await store.setConsent([ConsentChange(userID: "ada", isGranted: false)]) }
        try await eventually("the denial is carried out") { slow.gate.waiting == 1 }
        let again = Task {
            _ = try await store.setConsent([ConsentChange(userID: "ada", isGranted: true)])
            let hit = Envelope(
                id: "again",
                identity: Identity(id: "ada"),
                event: .screenView("again"),
                date: time.now
            )
            return try await store.append([NewEvent(hit, to: Self.destination)], now: time.now)
        }
        for _ in 0..<1_000 { await Task.yield() }
        slow.gate.open()
        _ = try await denying.value
        #expect(try await again.value == [nil])
        let lease = try await Self.lease(store, owner: 1, time)
        #expect(lease.batches.flatMap(\.self).map(\.id) == ["again"])
        try await store.release(lease.token, pause: nil, now: time.now)
        #expect(cache.screens == ["again"])
    }

    /// A screen of an earlier run.
    private static func record(at date: Date, of visitor: String = "ada") -> FlagshipHitRecord {
        FlagshipHitRecord(
            visitorID: visitor,
            anonymousID: nil,
            type: "SCREENVIEW",
            time: date,
            content: [
                "t": "SCREENVIEW", "cid": .string(Bench.environmentID), "ds": "APP", "vid": .string(visitor),
                "dl": .string(visitor), "qt": 0,
            ]
        )
    }

    /// The ids of what waits after another start.
    private static func restart(_ outbox: InMemoryOutboxStore, _ cache: OwnCache, _ time: ManualTime) async throws
        -> [String]
    {
        let store = await FlagshipHitCacheStore(
            outbox,
            mirroredIn: FlagshipCaches(hits: cache),
            strategy: .continuousCaching,
            environmentID: Bench.environmentID,
            owedTo: destination,
            time: time
        )
        return try await #require(store).waiting(after: 0, limit: 10).map(\.envelope.id)
    }

    @Test("a cached hit whose id ends like that of an event's further hit is imported once, after any number of starts")
    func numberedID() async throws {
        let (time, cache, outbox) = (ManualTime(), OwnCache(), InMemoryOutboxStore())
        await cache.cacheHits(["order/1": Self.record(at: time.now)])
        for _ in 0..<3 { #expect(try await Self.restart(outbox, cache, time) == ["order/1"]) }
    }

    @Test(
        "a withdrawal that a crash kept from the cache reaches it at the next start, and no later consent sends its hits"
    )
    func interruptedWithdrawal() async throws {
        let (time, cache, outbox) = (ManualTime(), OwnCache(), InMemoryOutboxStore())
        await cache.cacheHits(["1": Self.record(at: time.now)])
        for isGranted in [false, true] {
            _ = try await outbox.setConsent([ConsentChange(userID: "ada", isGranted: isGranted)])
            #expect(try await Self.restart(outbox, cache, time) == [])
            #expect(cache.hits.isEmpty)
        }
    }

    /// A cache whose first look-up takes longer than it may.
    private final class LateCache: FlagshipHitCache {
        let cache = OwnCache()
        let gate = AsyncGate()
        private let looks = Atomic(0)

        func cacheHits(_ hits: [String: FlagshipHitRecord]) async { await cache.cacheHits(hits) }
        func lookupHits() async -> [String: FlagshipHitRecord] {
            if looks.add(1, ordering: .relaxed).oldValue == 0 { await gate.wait() }
            return await cache.lookupHits()
        }
        func flushHits(_ ids: [String]) async { await cache.flushHits(ids) }
        func flushAllHits() async { await cache.flushAllHits() }
    }

    @Test(
        "a withdrawal also deletes hits that only the cache has, because its look-up exceeded the time limit",
        arguments: FlagshipOptions.Tracking.Strategy.allCases
    )
    func withdrawalAfterLateLookup(strategy: FlagshipOptions.Tracking.Strategy) async throws {
        let (time, late) = (ManualTime(), LateCache())
        defer { late.gate.open() }
        for visitor in ["ada", "ben"] {
            await late.cache.cacheHits([visitor: Self.record(at: time.now, of: visitor)])
        }
        let starting = Task { try await Self.store(strategy, time, mirroredIn: late) }
        await time.waitForSleepers(1)
        time.advance(by: .milliseconds(200))
        let store = try await starting.value
        _ = try await store.setConsent([ConsentChange(userID: "ada", isGranted: false)])
        #expect(late.cache.screens == ["ben"])
    }

    @Test("an expired event leaves the cache only if it was owed to the vendor")
    func otherDestination() async throws {
        let time = ManualTime()
        let (store, cache) = try await Self.filled(.continuousCaching, time)
        let other = Destination(provider: "other", account: "one")
        let late = time.now.addingTimeInterval(60)
        _ = try await store.expire(before: late, owedTo: other, now: late)
        _ = try await store.remove(owedTo: other, as: .purged)
        #expect(cache.screens == ["ada", "ben"])
        _ = try await store.expire(before: late, owedTo: Self.destination, now: late)
        #expect(cache.hits.isEmpty)
    }

    /// Leases the lane for ten seconds.
    private static func lease(
        _ store: FlagshipHitCacheStore,
        owner: Int64,
        _ time: ManualTime
    ) async throws -> Lease {
        let request = LeaseRequest(
            for: destination,
            owner: owner,
            of: 10,
            now: time.now,
            until: time.now.addingTimeInterval(10)
        )
        guard case .leased(let lease) = try await store.lease(request) else {
            throw ExperimentationError(.general, "the lane isn't free")
        }
        return lease
    }

    @Test(
        "a holder that has lost the lane removes delivered events from the cache, but no dropped ones",
        arguments: FlagshipOptions.Tracking.Strategy.allCases
    )
    func lostLane(strategy: FlagshipOptions.Tracking.Strategy) async throws {
        let time = ManualTime()
        let (store, cache) = try await Self.filled(strategy, time)
        let first = try await Self.lease(store, owner: 1, time)
        time.advance(by: .seconds(20))
        let second = try await Self.lease(store, owner: 2, time)
        let events = first.batches.flatMap(\.self)
        let late = [
            Settlement(of: events[0], .dropped(.rejected, detail: "as the test wants it")),
            Settlement(of: events[1], .delivered),
        ]
        #expect(try await store.settle(late, under: first.token, now: time.now) == false)
        #expect(cache.screens == ["ada"])
        _ = try await store.settle([Settlement(of: events[0], .delivered)], under: second.token, now: time.now)
        #expect(cache.hits.isEmpty)
    }

    @Test(
        "a lease holder disturbed by another visitor's withdrawal removes events that it drops from the cache",
        arguments: FlagshipOptions.Tracking.Strategy.allCases
    )
    func disturbedLease(strategy: FlagshipOptions.Tracking.Strategy) async throws {
        let time = ManualTime()
        let (store, cache) = try await Self.filled(strategy, time)
        let lease = try await Self.lease(store, owner: 1, time)
        _ = try await store.setConsent([ConsentChange(userID: "ben", isGranted: false)])
        let ada = lease.batches.flatMap(\.self)[0]
        let settlement = Settlement(of: ada, .dropped(.rejected, detail: "as the test wants it"))
        #expect(try await store.settle([settlement], under: lease.token, now: time.now) == false)
        #expect(cache.hits.isEmpty)
    }
}
