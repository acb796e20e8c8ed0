import Experimentation
import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@Suite("Work with a time limit", .timeLimit(.minutes(10)))
struct TimeLimitTests {
    @Test("it completes even if its caller is cancelled")
    func cancelledCaller() async {
        let time = ManualTime()
        let lookup = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await time.value(within: .milliseconds(200)) {
                try? await time.sleep(for: .milliseconds(100))
                return "found"
            }
        }
        await time.waitForSleepers(2)
        time.advance(by: .milliseconds(100))
        #expect(await lookup.value == "found")
    }

    @Test("it is cancelled if it exceeds the limit, and isn't if it ends in time")
    func cancelledByLimit() async throws {
        final class Heard: Sendable { let words = Mutex<[String]>([]) }
        let heard = Heard()
        for (name, duration) in [("quick", 100), ("slow", 300)] {
            let time = ManualTime()
            let lookup = Task {
                await time.value(within: .milliseconds(200)) {
                    try? await time.sleep(for: .milliseconds(duration))
                    heard.words.withLock { $0.append("\(name) \(Task.isCancelled)") }
                    return name
                }
            }
            await time.waitForSleepers(2)
            time.advance(by: .milliseconds(min(duration, 200)))
            #expect(await lookup.value == (name == "quick" ? name : nil))
        }
        try await eventually("both end") { heard.words.withLock { $0.count } == 2 }
        #expect(heard.words.withLock { $0 } == ["quick false", "slow true"])
    }
}
