import AdapterKit
import Dispatch
import Experimentation
import ExperimentationTesting
import MockVendors
import Synchronization
import Testing
import Waiting

@testable import FlagshipAdapter

@Suite("Flagship: concurrency", .timeLimit(.minutes(10)))
struct ConcurrencyTests {
    @Test("concurrent changes of the context are all kept, here and at the vendor")
    func context() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        for _ in 0..<300 {
            let visitor = await flagship.newVisitor("ada", hasConsented: true).context(["gone": 1]).build()
            DispatchQueue.concurrentPerform(iterations: 4) { index in
                if index == 0 { visitor.clearContext() } else { visitor.updateContext("key-\(index)", .int(index)) }
            }
            var told = visitor.session?.user.attributes.values ?? [:]
            told["fs_users"] = visitor.context()["fs_users"]
            #expect(told == visitor.context())
        }
    }

    @Test("after concurrent sign-ins and sign-outs the last one counts, here and at the vendor")
    func identity() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        for _ in 0..<300 {
            let visitor = await flagship.newVisitor("anon", hasConsented: true).build()
            DispatchQueue.concurrentPerform(iterations: 3) { index in
                if index == 0 { visitor.unauthenticate() } else { visitor.authenticate("member-\(index)") }
            }
            #expect(visitor.session?.user.id == visitor.visitorID)
            #expect(visitor.session?.user.anonymousID == visitor.anonymousID)
        }
    }

    @Test("a withdrawal that is carried out late doesn't undo the consent that followed it")
    func consent() async throws {
        let bench = try await Bench()
        let cache = SlowFlushing()
        defer { cache.gate.open() }
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(visitors: cache) }
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        let withdrawing = Task { await visitor.setConsent(false) }
        try await eventually("the cache is asked to delete the visitor") { cache.gate.waiting == 1 }
        let giving = Task { await visitor.setConsent(true) }
        try await eventually("the visitor has consented again") { visitor.hasConsented }
        for _ in 0..<100 { await Task.yield() }
        cache.gate.open()
        await withdrawing.value
        await giving.value
        #expect(visitor.session?.user.consent == .granted)
        #expect(await visitor.sendHit(.screen("after")))
    }

    @Test("a consent that is stated again under another id is never unknown in between")
    func consentStatedAgain() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("anon", hasConsented: true).build()
        let session = try #require(visitor.session)
        let isOver = Atomic(false)
        let watching = Task {
            var seen: Set<Consent> = []
            while !isOver.load(ordering: .relaxed) {
                for _ in 0..<1_000 { seen.insert(session.user.consent) }
                await Task.yield()
            }
            return seen
        }
        for number in 0..<2_000 {
            visitor.authenticate("member-\(number)")
            await visitor.setConsent(true)
        }
        isOver.store(true, ordering: .relaxed)
        #expect(await watching.value == [.granted])
    }

    /// Yields before and after each operation.
    struct Polite: StateStoreDecorator {
        let baseState: any StateStore

        func pass<Value: Sendable>(
            _ operation: StoreOperation,
            _ body: () async throws(ExperimentationError) -> Value
        ) async throws(ExperimentationError) -> Value {
            for _ in 0..<20 { await Task.yield() }
            let value = try await body()
            for _ in 0..<20 { await Task.yield() }
            return value
        }
    }

    @Test("of visitors built concurrently in a new installation one is the first, and all have the same anonymous id")
    func firstBuilds() async throws {
        let bench = try await Bench()
        let store = ClientStore(outbox: bench.store.outbox, state: Polite(baseState: bench.store.state))
        let flagship = await bench.flagship(store: store)
        let visitors = await withTaskGroup(of: FlagshipVisitor.self) { group in
            for name in ["ada", "ben", "cleo"] {
                group.addTask { await flagship.newVisitor(name, hasConsented: true).authenticated(true).build() }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(visitors.count { $0.context()["sdk_firstTimeInit"] == true } == 1)
        #expect(Set(visitors.map(\.anonymousID)).count == 1)
    }
}
