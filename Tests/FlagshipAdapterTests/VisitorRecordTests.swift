import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Synchronization
import Testing
import Waiting

@testable import FlagshipAdapter

/// An application's cache that hands out a visitor's record once.
struct HandingOut: FlagshipVisitorCache {
    let kept = OwnCache()

    func cacheVisitor(_ visitorID: String, _ record: Data) async { await kept.cacheVisitor(visitorID, record) }
    func flushVisitor(_ visitorID: String) async { await kept.flushVisitor(visitorID) }
    func lookupVisitor(_ visitorID: String) async -> Data? {
        let found = await kept.lookupVisitor(visitorID)
        await kept.flushVisitor(visitorID)
        return found
    }
}

/// A state store that fails a number of reads.
final class FailingReads: StateStoreDecorator {
    let baseState: any StateStore
    private let left: Mutex<Int>

    init(_ count: Int, of base: any StateStore) {
        baseState = base
        left = Mutex(count)
    }

    func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        let fails = left.withLock { left in
            left -= 1
            return left >= 0
        }
        if fails { throw ExperimentationError(.store, "as the test wants it") }
        return try await baseState.value(for: key)
    }
}

@Suite("Flagship: when a visitor's record is written")
struct VisitorRecordTests {
    /// Waits for work, and advances time for every sleep shorter than the limit of a look-up.
    private static func result<Value: Sendable>(
        of work: @escaping @Sendable () async -> Value,
        _ time: ManualTime
    ) async throws -> Value {
        let isOver = AsyncGate()
        let working = Task {
            defer { isOver.open() }
            return await work()
        }
        try await eventually("the work to end") {
            if let wait = time.untilNextWake, wait < .milliseconds(100) { time.advance(by: wait) }
            return isOver.isOpen
        }
        return await working.value
    }

    @Test("a record that can't be read for a moment isn't missing: a visitor keeps the variations of earlier runs")
    func unreadableForAMoment() async throws {
        let bench = try await Bench()
        let first = await bench.flagship()
        await first.newVisitor("ada", hasConsented: true).build().fetchFlags()
        try await first.client?.flush()
        await first.close()
        let failing = FailingReads(2, of: bench.store.state)
        let cache = FlagshipStateCache(state: failing, scope: Bench.environmentID, time: bench.time)
        let found = try await Self.result(of: { await cache.lookupVisitor("ada") }, bench.time)
        #expect(try FlagshipVisitorRecord(try #require(found)).assignments["grp-test"] == "var-b")
    }

    @Test("a consent known to the vendor is recognized even if the store can't read it for a moment")
    func unreadableConsent() async throws {
        let (time, state) = (ManualTime(), InMemoryStateStore())
        func notes(_ state: any StateStore) -> FlagshipConsentNotes {
            FlagshipConsentNotes(state: state, environmentID: Bench.environmentID, time: time)
        }
        await notes(state).tell("ada", true)
        let failing = notes(FailingReads(2, of: state))
        #expect(try await Self.result(of: { await failing.isKnown("ada", at: time.now) }, time))
        let broken = notes(FailingReads(.max, of: state))
        #expect(try await Self.result(of: { await broken.isKnown("ada", at: time.now) }, time) == false)
    }

    @Test("a failed fetch stores the visitor again, with the flags that it keeps")
    func failedFetch() async throws {
        let bench = try await Bench()
        let cache = HandingOut()
        for run in 0..<3 {
            // A store of its own, so that only the cache brings anything from one run to the next.
            let flagship = await bench.flagship(store: .inMemory()) { $0.caches = FlagshipCaches(visitors: cache) }
            let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
            #expect(visitor.fetchReason == (run == 0 ? .visitorCreate : .fetchedFromCache), "run \(run)")
            bench.transport.heal()
            if run > 0 { bench.transport.fail("campaigns", .status(500)) }
            await visitor.fetchFlags()
            #expect(visitor.flag("cta").value(default: "none") == "new")
            #expect(cache.kept.visitors.keys.sorted() == ["ada"])
            await flagship.close()
        }
        let record = try FlagshipVisitorRecord(try #require(cache.kept.visitors["ada"]))
        #expect(record.assignments["grp-test"] == "var-b" && record.flags["cta"]?.value == "new")
    }

    @Test("a failed fetch stores flags that only the client's store had kept")
    func restoredFlags() async throws {
        let bench = try await Bench()
        let first = await bench.flagship { $0.caches = FlagshipCaches(visitors: OwnCache()) }
        await first.newVisitor("ada", hasConsented: true).build().fetchFlags()
        await first.close()
        let cache = OwnCache()
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(visitors: cache) }
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        bench.transport.fail("campaigns", .status(500))
        await visitor.fetchFlags()
        #expect(visitor.flag("cta").value(default: "none") == "new")
        let record = try FlagshipVisitorRecord(try #require(cache.visitors["ada"]))
        #expect(record.assignments["grp-test"] == "var-b" && record.flags["cta"]?.value == "new")
    }

    @Test("a failed fetch stores nothing if it has nothing to keep, or the flags of the visitor before signing in")
    func nothingToKeep() async throws {
        let bench = try await Bench()
        let cache = OwnCache()
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(visitors: cache) }
        let visitor = await flagship.newVisitor("anon", hasConsented: true).build()
        bench.transport.fail("campaigns", .status(500))
        await visitor.fetchFlags()
        #expect(cache.visitors.isEmpty)
        await visitor.fetchFlags()
        visitor.authenticate("ada")
        bench.transport.fail("campaigns", .status(500))
        await visitor.fetchFlags()
        #expect(visitor.flag("cta").value(default: "none") == "new")
        #expect(cache.visitors.keys.sorted() == ["anon"])
    }

    @Test("a failed fetch stores nothing under an id for which no fetch has succeeded, whatever other visitors have")
    func othersDecisions() async throws {
        let bench = try await Bench()
        let cache = OwnCache()
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(visitors: cache) }
        await flagship.newVisitor("ada", hasConsented: true).build().fetchFlags()
        let visitor = await flagship.newVisitor("anon", hasConsented: true).build()
        for signsIn in [true, false] {
            if signsIn { visitor.authenticate("ada") } else { visitor.unauthenticate() }
            bench.transport.fail("campaigns", .status(500))
            await visitor.fetchFlags()
        }
        #expect(cache.visitors.keys.sorted() == ["ada"])
    }

    @Test("a fetch during which the visitor signs in asks again, and stores flags under the id that they were made for")
    func signedInMeanwhile() async throws {
        let bench = try await Bench()
        let cache = OwnCache()
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(visitors: cache) }
        let visitor = await flagship.newVisitor("anon", hasConsented: true).build()
        let answer = AsyncGate()
        defer { answer.open() }
        bench.transport.fail("campaigns", .delayed(answer))
        async let fetched: Void = visitor.fetchFlags()
        try await eventually("the flags are asked for") { !bench.transport.isToFail }
        visitor.authenticate("ada")
        answer.open()
        await fetched
        visitor.unauthenticate()
        bench.transport.fail("campaigns", .status(500))
        await visitor.fetchFlags()
        let asked = bench.transport.exchanges("campaigns").map { $0.json["visitor_id"] }
        #expect(asked == ["anon", "ada", "anon"])
        #expect(cache.visitors.keys.sorted() == ["ada"])
    }

    @Test("a failed fetch of a visitor who has withdrawn consent stores nothing")
    func withoutConsent() async throws {
        let bench = try await Bench()
        let cache = OwnCache()
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(visitors: cache) }
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        await visitor.setConsent(false)
        bench.transport.fail("campaigns", .status(500))
        await visitor.fetchFlags()
        #expect(visitor.fetchReason == .fetchError && cache.visitors.isEmpty)
    }

    @Test("every cached visitor is one of an earlier run, even one without flags")
    func withoutFlags() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        try await flagship.importVisitor(FlagshipVisitorRecord(visitorID: "ada", context: ["plan": "pro"]).json)
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        #expect(visitor.fetchStatus == .fetchRequired && visitor.fetchReason == .fetchedFromCache)
        #expect(visitor.flags().isEmpty)
    }
}
