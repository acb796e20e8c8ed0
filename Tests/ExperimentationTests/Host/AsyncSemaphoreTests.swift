import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@Suite("A semaphore", .timeLimit(.minutes(10)))
struct AsyncSemaphoreTests {
    /// Tasks that queue up one after another, and the order of their admission.
    private final class Line: Sendable {
        let semaphore: AsyncSemaphore
        private let numbers = Mutex<[Int]>([])

        init(limit: Int) { semaphore = AsyncSemaphore(limit: limit) }

        var admitted: [Int] { numbers.withLock { $0 } }

        /// Queues a task behind the waiting ones.
        func add(_ number: Int) async -> Task<Void, any Error> {
            let before = semaphore.waiting
            let task = Task {
                try await semaphore.enter()
                numbers.withLock { $0.append(number) }
            }
            await yield { semaphore.waiting > before }
            return task
        }
    }

    @Test("admits up to its limit; the next task waits until one leaves", arguments: [1, 2, 7])
    func limit(limit: Int) async throws {
        let line = Line(limit: limit)
        for _ in 0..<limit { try await line.semaphore.enter() }
        let next = await line.add(1)
        #expect(line.admitted == [])
        line.semaphore.leave()
        try await next.value
        #expect(line.admitted == [1])
    }

    @Test("admits tasks in the order of their arrival")
    func order() async throws {
        let line = Line(limit: 1)
        try await line.semaphore.enter()
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<50 { tasks.append(await line.add(number)) }
        for (number, task) in tasks.enumerated() {
            line.semaphore.leave()
            try await task.value
            #expect(line.admitted == Array(0...number))
        }
    }

    @Test("lets no task overtake waiting ones")
    func nobodyPasses() async throws {
        let line = Line(limit: 0)
        let first = await line.add(1)
        let second = await line.add(2)
        line.semaphore.setLimit(1)
        try await first.value
        #expect(line.semaphore.waiting == 1)
        line.semaphore.leave()
        try await second.value
        #expect(line.admitted == [1, 2])
    }

    @Test("removes a task that is cancelled while waiting, and the ones behind it move up")
    func cancelledWhileWaiting() async throws {
        let line = Line(limit: 1)
        try await line.semaphore.enter()
        let tasks = [await line.add(0), await line.add(1), await line.add(2)]
        tasks[1].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[1].value }
        #expect(line.semaphore.waiting == 2)
        line.semaphore.leave()
        try await tasks[0].value
        line.semaphore.leave()
        try await tasks[2].value
        #expect(line.admitted == [0, 2])
    }

    @Test("admits no task that was cancelled before, even if there is room")
    func cancelledBefore() async throws {
        let semaphore = AsyncSemaphore(limit: 1)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await semaphore.enter()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        try await semaphore.enter()
        #expect(semaphore.waiting == 0)
    }

    @Test("shared work whose caller is cancelled goes on if others wait, or else is cancelled", arguments: [0, 1])
    func runShared(others: Int) async throws {
        let semaphore = AsyncSemaphore(limit: 1)
        let (begun, end, isCancelled) = (AsyncGate(), AsyncGate(), AsyncRace<Bool>())
        let caller = Task {
            try await semaphore.runShared {
                begun.open()
                await end.wait()
                isCancelled.finish(with: Task.isCancelled)
            }
        }
        await begun.wait()
        let waiting = (0..<others).map { _ in Task { try await semaphore.enter() } }
        await yield { semaphore.waiting == others }
        caller.cancel()
        let error = await #expect(throws: ExperimentationError.self) { try await caller.value }
        #expect(error?.code == .cancelled)
        end.open()
        #expect(await isCancelled.winner() == (others == 0))
        for task in waiting { try await task.value }
        // The work has left.
        if others > 0 { semaphore.leave() }
        try await semaphore.enter()
    }

    @Test("a higher limit admits tasks at once; a lower one admits none until enough have left")
    func setLimit() async throws {
        let line = Line(limit: 1)
        try await line.semaphore.enter()
        let tasks = [await line.add(0), await line.add(1), await line.add(2), await line.add(3)]
        line.semaphore.setLimit(3)
        #expect(line.semaphore.waiting == 2)
        for task in tasks[..<2] { try await task.value }
        line.semaphore.setLimit(1)
        line.semaphore.leave()
        line.semaphore.leave()
        #expect(line.semaphore.waiting == 2)
        line.semaphore.leave()
        #expect(line.semaphore.waiting == 1)
        try await tasks[2].value
        line.semaphore.leave()
        try await tasks[3].value
        #expect(Set(line.admitted) == [0, 1, 2, 3])
    }

    @Test("runs an action in its turn although the caller is cancelled, and returns or throws what the action does")
    func run() async throws {
        let semaphore = AsyncSemaphore(limit: 1)
        try await semaphore.enter()
        let caller = Task { await semaphore.run { Task.isCancelled } }
        await yield { semaphore.waiting == 1 }
        caller.cancel()
        await yield(times: 100)
        #expect(semaphore.waiting == 1)
        semaphore.leave()
        #expect(await caller.value == false)
        await #expect(throws: ExperimentationError.self) {
            try await semaphore.run { () async throws(ExperimentationError) in
                throw ExperimentationError(.store, "as the test wants it")
            }
        }
        // Both have left.
        try await semaphore.enter()
        #expect(semaphore.waiting == 0)
    }

    @Test("never exceeds its limit and loses no slot when tasks come, go and are cancelled in 500 races")
    func races() async throws {
        for seed in 0..<500 {
            let dice = Dice(seed)
            let limit = 1 + dice.below(3)
            let semaphore = AsyncSemaphore(limit: limit)
            let inside = Counts()
            await withTaskGroup { group in
                for _ in 0..<8 {
                    let (before, within) = (dice.below(4), dice.below(3))
                    let task = Task {
                        await yield(times: before)
                        try await semaphore.enter()
                        inside.enter()
                        await yield(times: within)
                        inside.leave()
                        semaphore.leave()
                    }
                    group.addTask { _ = await task.result }
                    guard dice.below(2) == 0 else { continue }
                    let pause = dice.below(6)
                    group.addTask {
                        await yield(times: pause)
                        task.cancel()
                    }
                }
            }
            #expect(inside.most <= limit, "seed \(seed)")
            #expect(semaphore.waiting == 0, "seed \(seed)")
            // If a cancelled task had kept a permit, the last of these would wait forever.
            for _ in 0..<limit { try await semaphore.enter() }
            let next = Task { try await semaphore.enter() }
            await yield { semaphore.waiting == 1 }
            next.cancel()
            await #expect(throws: CancellationError.self) { try await next.value }
        }
    }

    /// The current and the maximum number of tasks inside.
    private final class Counts: Sendable {
        private let counts = Mutex((now: 0, most: 0))

        var most: Int { counts.withLock(\.most) }

        func enter() {
            counts.withLock { counts in
                counts.now += 1
                counts.most = max(counts.most, counts.now)
            }
        }

        func leave() { counts.withLock { $0.now -= 1 } }
    }
}
