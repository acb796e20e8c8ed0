import Synchronization
import Testing

@testable import Experimentation

@Suite("A chain of tasks", .timeLimit(.minutes(10)))
struct TaskChainTests {
    @Test("work is done in the order in which it is added, and its end includes work that it adds itself")
    func inOrder() async {
        let chain = TaskChain()
        await chain.end()
        let done = Mutex<[Int]>([])
        let gate = AsyncGate()
        chain.add {
            await gate.wait()
            done.withLock { $0.append(1) }
            chain.add { done.withLock { $0.append(3) } }
        }
        chain.add { done.withLock { $0.append(2) } }
        let second = chain.latest
        gate.open()
        await second?.value
        #expect(done.withLock { $0 }.prefix(2) == [1, 2])
        await chain.end()
        #expect(done.withLock { $0 } == [1, 2, 3])
    }
}
