import Foundation
import Synchronization
import Testing
import Waiting

@Suite("Work beside the cooperative pool", .timeLimit(.minutes(10)))
struct BesideThePoolTests {
    private final class Progress: Sendable {
        let computing = Atomic(0)
        let hasGoneOn = Atomic(false)
    }

    @Test("other tasks make progress, however much work runs beside the pool")
    func othersGoOn() async {
        let progress = Progress()
        let threads = ProcessInfo.processInfo.activeProcessorCount + 1
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<threads {
                group.addTask {
                    await besideThePool {
                        progress.computing.add(1, ordering: .relaxed)
                        let end = ContinuousClock.now + generousLimit
                        while !progress.hasGoneOn.load(ordering: .relaxed), ContinuousClock.now < end { sched_yield() }
                        return progress.hasGoneOn.load(ordering: .relaxed)
                    }
                }
            }
            group.addTask {
                try? await eventually("all compute") { progress.computing.load(ordering: .relaxed) == threads }
                progress.hasGoneOn.store(true, ordering: .relaxed)
                return true
            }
            for await isFree in group { #expect(isFree) }
        }
    }
}
