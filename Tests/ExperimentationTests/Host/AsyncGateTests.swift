import Experimentation
import ExperimentationTesting
import Testing

@Suite("A gate", .timeLimit(.minutes(10)))
struct AsyncGateTests {
    @Test("lets later tasks through at once after it was opened, however often")
    func openedBefore() async {
        let gate = AsyncGate()
        #expect(!gate.isOpen)
        gate.open()
        gate.open()
        #expect(gate.isOpen)
        #expect(await gate.wait())
        #expect(await gate.wait())
    }

    @Test("lets all waiting tasks through when it opens")
    func openedAfter() async {
        let gate = AsyncGate()
        let waiters = (0..<1_000).map { _ in Task { await gate.wait() } }
        await yield { gate.waiting == 1_000 }
        gate.open()
        #expect(gate.waiting == 0)
        var passed: [Bool] = []
        for waiter in waiters { passed.append(await waiter.value) }
        #expect(passed == Array(repeating: true, count: 1_000))
    }

    @Test("doesn't hold a task that was cancelled before")
    func cancelledBefore() async {
        let (gate, start) = (AsyncGate(), AsyncGate())
        let waiter = Task {
            await start.wait()
            return await gate.wait()
        }
        waiter.cancel()
        start.open()
        #expect(await !waiter.value)
        #expect(gate.waiting == 0)
    }

    @Test("reports that it is open to a cancelled task, too")
    func openToTheCancelled() async {
        let gate = AsyncGate()
        gate.open()
        let waiter = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await gate.wait()
        }
        #expect(await waiter.value)
    }

    @Test("releases a task that is cancelled while waiting, and keeps the others")
    func cancelledWhileWaiting() async {
        let gate = AsyncGate()
        let stays = Task { await gate.wait() }
        let goes = Task { await gate.wait() }
        await yield { gate.waiting == 2 }
        goes.cancel()
        #expect(await !goes.value)
        #expect(gate.waiting == 1)
        gate.open()
        #expect(await stays.value)
    }

    @Test("ends each wait once in 1,000 races of opening, waiting and cancelling")
    func races() async {
        for seed in 0..<1_000 {
            let dice = Dice(seed)
            let gate = AsyncGate()
            let waiters = (0..<4).map { _ in
                let pause = dice.below(4)
                return Task {
                    await yield(times: pause)
                    return await gate.wait()
                }
            }
            let areCancelled = waiters.map { _ in dice.below(2) == 0 }
            await withTaskGroup { group in
                for (waiter, isCancelled) in zip(waiters, areCancelled) where isCancelled {
                    let pause = dice.below(4)
                    group.addTask {
                        await yield(times: pause)
                        waiter.cancel()
                    }
                }
                let pause = dice.below(4)
                group.addTask {
                    await yield(times: pause)
                    gate.open()
                }
            }
            for (waiter, isCancelled) in zip(waiters, areCancelled) {
                let hasPassed = await waiter.value
                #expect(hasPassed || isCancelled, "seed \(seed)")
            }
            #expect(gate.waiting == 0, "seed \(seed)")
        }
    }
}
