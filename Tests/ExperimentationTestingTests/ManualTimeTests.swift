import Experimentation
import ExperimentationTesting
import Testing

@Suite("Manual time", .timeLimit(.minutes(10)))
struct ManualTimeTests {
    private let time = ManualTime()

    @Test("wakes tasks whose time has come, and no other")
    func wakes() async throws {
        let soon = Task { [time] in try await time.sleep(for: .seconds(1)) }
        let late = Task { [time] in try await time.sleep(for: .seconds(3)) }
        await time.waitForSleepers(2)
        time.advance(by: .seconds(2))
        try await soon.value
        #expect(time.sleepers == 1)
        #expect(time.untilNextWake == .seconds(1))
        time.advance(by: .seconds(1))
        try await late.value
        #expect(time.untilNextWake == nil)
    }

    @Test("a sleep in the past doesn't wait")
    func isOver() async throws {
        try await time.sleep(until: time.instant)
        #expect(time.sleepers == 0)
    }

    @Test("cancellation ends a sleep, before or during it")
    func cancelled() async {
        let sleeper = Task { [time] in try await time.sleep(for: .seconds(1)) }
        await time.waitForSleepers(1)
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(time.sleepers == 0)
        let awake = Task { [time] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await time.sleep(for: .seconds(1))
        }
        await #expect(throws: CancellationError.self) { try await awake.value }
        #expect(time.sleepers == 0)
    }

    @Test("waiting for sleepers that never come can be cancelled")
    func cancelledWait() async {
        let waiter = Task { [time] in await time.waitForSleepers(1) }
        waiter.cancel()
        await waiter.value
        #expect(time.sleepers == 0)
    }

    @Test("after settling, woken tasks have reached their next sleep")
    func settles() async {
        let rounds = Task { [time] in
            for _ in 0..<5 { try await time.sleep(for: .seconds(10)) }
        }
        await time.waitForSleepers(1)
        time.advance(by: .seconds(10))
        await time.settle()
        #expect(time.sleepers == 1 && time.untilNextWake == .seconds(10))
        rounds.cancel()
        await time.settle()
        #expect(time.sleepers == 0)
    }

    @Test("passing time wakes tasks that sleep repeatedly, each in turn")
    func passes() async throws {
        let provider = InMemoryProvider(batching: BatchPolicy(count: 10, interval: .seconds(5)), needsConsent: false)
        let client = try await ExperimentationClient(provider: provider, environment: ClientEnvironment(time: time))
        try await client.track(.custom("a"), for: User(id: "ada"))
        await time.settle()
        #expect(provider.delivered == [])
        // Waits until the client sleeps until the batch is due.
        await time.waitForSleepers(1)
        let ticks = Task { [time] in
            for _ in 0..<4 { try await time.sleep(for: .seconds(2)) }
        }
        await time.waitForSleepers(2)
        await time.pass(.seconds(9))
        try await ticks.value
        #expect(provider.delivered == [.custom("a")])
        await client.shutdown()
    }
}
