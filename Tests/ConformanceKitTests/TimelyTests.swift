import ConformanceSubjects
import Experimentation
import Synchronization
import Testing

@testable import ConformanceKit

/// A clock on which a number of timers end at once, and no other ever does.
private final class TestClock: Clock {
    private let base = ContinuousClock()
    private let mayEnd: Mutex<Int>
    let isSpent = AsyncGate()

    init(timers: Int) { mayEnd = Mutex(timers) }

    var now: ContinuousClock.Instant { base.now }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        let ends = mayEnd.withLock { mayEnd in
            mayEnd -= 1
            return mayEnd >= 0
        }
        if ends { return }
        isSpent.open()
        await AsyncGate().wait()
        throw CancellationError()
    }
}

@Suite("Work with a deadline")
struct TimelyTests {
    @Test(
        "may take as long as a busy machine needs for the deadline's timers, and no longer",
        arguments: [(timers: 0, isLate: false), (21, false), (22, true)]
    )
    func measured(timers: Int, isLate: Bool) async throws {
        let subject = BentSubject(bend: BentSubject.Bend())
        let probe = Probe(subject: subject, stage: try await subject.open(.shop), world: .shop)
        let clock = TestClock(timers: timers)
        let value = await probe.timely(within: .milliseconds(300), "the work", by: clock) {
            await clock.isSpent.wait()
            return "done"
        }
        #expect(value == "done")
        #expect(probe.state.withLock { $0.failures.count } == (isLate ? 1 : 0))
    }
}
