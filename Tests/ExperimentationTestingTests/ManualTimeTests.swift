import Experimentation
import ExperimentationTesting
import Testing

@Suite("Time that a test moves", .timeLimit(.minutes(2)))
struct ManualTimeTests {
    private let time = ManualTime()

    @Test("wakes whoever slept until then, and nobody else")
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

    @Test("a sleep that is over already doesn't wait")
    func isOver() async throws {
        try await time.sleep(until: time.instant)
        #expect(time.sleepers == 0)
    }

    @Test("who is cancelled sleeps no longer, whether before or while asleep")
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

    @Test("who waits for sleepers that don't come can be cancelled")
    func cancelledWait() async {
        let waiter = Task { [time] in await time.waitForSleepers(1) }
        waiter.cancel()
        await waiter.value
        #expect(time.sleepers == 0)
    }
}
