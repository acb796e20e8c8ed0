import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import Experimentation

@Suite("An alarm", .timeLimit(.minutes(10)))
struct AlarmTests {
    private let time = ManualTime()

    @Test("the alarm rings once, at its time")
    func rings() async throws {
        let alarm = Alarm(by: time)
        let rings = Mutex(0)
        alarm.set(to: time.instant.advanced(by: .seconds(5))) { rings.withLock { $0 += 1 } }
        await time.waitForSleepers(1)
        #expect(rings.withLock { $0 } == 0)
        time.advance(by: .seconds(5))
        try await eventually("a ring") { rings.withLock { $0 } == 1 }
        // The moment has come, and may be set again.
        alarm.set(to: time.instant) { rings.withLock { $0 += 1 } }
        try await eventually("another ring") { rings.withLock { $0 } == 2 }
    }

    @Test("the last time set counts, even if it is none")
    func lastCounts() async throws {
        let alarm = Alarm(by: time)
        let rung = Mutex<[String]>([])
        let start = time.instant
        for (name, seconds) in [("first", 5), ("second", 9), ("second again", 9)] {
            alarm.set(to: start.advanced(by: .seconds(seconds))) { rung.withLock { $0.append(name) } }
        }
        await time.waitForSleepers(1)
        time.advance(by: .seconds(9))
        try await eventually("a ring") { rung.withLock { $0 } == ["second"] }
        alarm.set(to: time.instant.advanced(by: .seconds(1))) { rung.withLock { $0.append("third") } }
        alarm.set(to: nil) {}
        time.advance(by: .seconds(1))
        let last = Alarm(by: time)
        last.set(to: time.instant) { rung.withLock { $0.append("last") } }
        try await eventually("the last ring") { rung.withLock { $0 }.last == "last" }
        #expect(rung.withLock { $0 } == ["second", "last"])
    }
}
