import ExperimentationTesting
import Foundation
import Synchronization
import Testing

@testable import Experimentation

@Suite("A session's announcements of what it reads")
struct SessionChangesTests {
    private func client(
        freshness: Freshness = Freshness(),
        time: any TimeSource = ManualTime()
    ) async throws -> ExperimentationClient {
        try await ExperimentationClient(
            provider: InMemoryProvider(flags: [InMemoryFlag("a", 1)], freshness: freshness),
            environment: ClientEnvironment(time: time)
        )
    }

    @Test("a change in progress when a listener is added is announced")
    func underWay() async throws {
        let client = try await client()
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        var heard: AsyncStream<DecisionChange>?
        session.update { former in
            // The listener still reads the former value.
            heard = session.changes
            return Snapshot(
                decisions: .none,
                context: former.context,
                origin: .fresh,
                date: former.date,
                instant: former.instant,
                revision: former.revision
            )
        }
        // Any other announcement to the listener comes after it.
        client.overrideFlag("b", with: 1)
        var changes = try #require(heard).makeAsyncIterator()
        #expect(await changes.next() == DecisionChange(flags: ["a"], status: .ready))
        await client.shutdown()
    }

    @Test("streams of changes end with the client, including those requested later", .timeLimit(.minutes(1)))
    func end() async throws {
        let client = try await client()
        let sessions = ["ada", "bob"].map { client.session(for: User(id: $0)) }
        let before = sessions.map(\.changes)
        await client.shutdown()
        for changes in before + sessions.map(\.changes) {
            for await _ in changes {}
        }
        // Keeps the sessions until here: their own end would end the streams as well.
        #expect(sessions.map(\.user.id) == ["ada", "bob"])
    }

    @Test("overdue decisions that can't be read count as none, and each flag of the next ones is announced")
    func overdue() async throws {
        let time = ManualTime()
        let client = try await client(freshness: Freshness(lifetime: .seconds(10), afterExpiry: .notReady), time: time)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        time.advance(by: .seconds(11))
        #expect(session.int("a", default: 0) == 0)
        #expect(session.decisions == .none)
        var changes = session.changes.makeAsyncIterator()
        try await session.refresh()
        #expect(session.int("a", default: 0) == 1)
        #expect(await changes.next() == DecisionChange(flags: ["a"], status: .ready))
        await client.shutdown()
    }

    @Test("overdue decisions that can be read still count, and only flags that differ are announced")
    func overdueButRead() async throws {
        let time = ManualTime()
        let client = try await client(freshness: Freshness(lifetime: .seconds(10)), time: time)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        time.advance(by: .seconds(11))
        #expect(session.decisions["a"]?.value == 1)
        var changes = session.changes.makeAsyncIterator()
        try await session.refresh()
        #expect(await changes.next() == DecisionChange(flags: [], status: .ready))
        await client.shutdown()
    }

    @Test(
        "the expiry of decisions is announced when it happens, to listeners from before and after they arrived",
        arguments: [
            (Freshness.AfterExpiry.notReady, DecisionChange(flags: ["a"], status: .notReady)),
            (.stale, DecisionChange(flags: [], status: .stale)),
        ]
    )
    func expiry(afterExpiry: Freshness.AfterExpiry, change: DecisionChange) async throws {
        let time = ManualTime()
        let freshness = Freshness(lifetime: .seconds(10), afterExpiry: afterExpiry)
        let client = try await client(freshness: freshness, time: time)
        let session = client.session(for: User(id: "ada"))
        var earlier = session.changes.makeAsyncIterator()
        try await session.refresh()
        var later = session.changes.makeAsyncIterator()
        time.advance(by: .seconds(10))
        await time.settle()
        client.overrideFlag("b", with: 1)
        time.advance(by: .nanoseconds(1))
        await time.settle()
        // Any other announcement to a listener comes after it.
        client.overrideFlag("c", with: 1)
        let override = DecisionChange(flags: ["b"], status: .ready)
        #expect(await earlier.next() == DecisionChange(flags: ["a"], status: .ready))
        #expect(await [earlier.next(), earlier.next()] == [override, change])
        #expect(await [later.next(), later.next()] == [override, change])
        await client.shutdown()
    }

    @Test("an expiry is announced even if the machine wakes the client before it, or new decisions arrive in between")
    func earlyExpiry() async throws {
        let time = HastyTime()
        let freshness = Freshness(lifetime: .seconds(10), afterExpiry: .notReady)
        let client = try await client(freshness: freshness, time: time)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        var changes = session.changes.makeAsyncIterator()
        time.base.advance(by: .seconds(1))
        await time.base.settle()
        try await session.refresh(force: true)
        time.base.advance(by: .seconds(9.5))
        await time.base.settle()
        client.overrideFlag("b", with: 1)
        time.base.advance(by: .seconds(1))
        await time.base.settle()
        client.overrideFlag("c", with: 1)
        #expect(await changes.next() == DecisionChange(flags: ["b"], status: .ready))
        #expect(await changes.next() == DecisionChange(flags: ["a"], status: .notReady))
        await client.shutdown()
    }

    @Test("nothing waits for an expiry without a listener", .timeLimit(.minutes(1)))
    func nobodyListens() async throws {
        let time = ManualTime()
        let client = try await client(freshness: Freshness(lifetime: .seconds(10)), time: time)
        let sessions = ["ada", "bob"].map { client.session(for: User(id: $0)) }
        for session in sessions { try await session.refresh() }
        await time.settle()
        #expect(time.sleepers == 0)
        let changes = sessions[0].changes
        await time.waitForSleepers(1)
        await client.shutdown()
        await time.settle()
        #expect(time.sleepers == 0)
        for await _ in changes {}
    }

    @Test("of overlapping updates, each that changes something is announced, even if the next one reverts it")
    func overlapping() async throws {
        let client = try await client()
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        let changes = session.changes
        let count = await withTaskGroup { group in
            for value in [FlagValue.int(1), .int(2)] {
                group.addTask {
                    var count = 0
                    for _ in 0..<10_000 {
                        session.update { former in
                            if former.decisions["a"]?.value != value { count += 1 }
                            return Self.snapshot(like: former, a: value)
                        }
                    }
                    return count
                }
            }
            return await group.reduce(0, +)
        }
        await client.shutdown()
        let announced = await changes.reduce(into: [DecisionChange]()) { $0.append($1) }
        #expect(announced.count == count)
        #expect(announced.allSatisfy { $0 == DecisionChange(flags: ["a"], status: .ready) })
    }

    private static func snapshot(like former: Snapshot, a value: FlagValue) -> Snapshot {
        Snapshot(
            decisions: Decisions(flags: [("a", Resolution(value, reason: .static))]),
            context: former.context,
            origin: .fresh,
            date: former.date,
            instant: former.instant,
            revision: former.revision
        )
    }

    @Test("the change of one flag is announced beside another whose key is canonically equivalent")
    func equivalentKeys() async throws {
        let (same, other) = (InMemoryFlag("e\u{301}", 1), InMemoryFlag("\u{e9}", 1))
        let provider = InMemoryProvider(flags: [same, other])
        let client = try await ExperimentationClient(provider: provider)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        var changes = session.changes.makeAsyncIterator()
        provider.replace(flags: [same, InMemoryFlag("\u{e9}", 2)])
        try await session.refresh(force: true)
        #expect(session.int("\u{e9}", default: 0) == 2)
        client.overrideFlag("b", with: 1)
        #expect(await changes.next() == DecisionChange(flags: ["\u{e9}"], status: .ready))
        await client.shutdown()
    }
}

/// A clock whose first sleeper wakes after a second, however long it was to sleep.
private final class HastyTime: TimeSource {
    let base = ManualTime()
    private let isFirst = Atomic(true)

    var now: Date { base.now }
    var instant: ContinuousClock.Instant { base.instant }

    func sleep(until deadline: ContinuousClock.Instant) async throws {
        let isFirst = isFirst.exchange(false, ordering: .relaxed)
        try await base.sleep(until: isFirst ? base.instant.advanced(by: .seconds(1)) : deadline)
    }
}
