import Testing

@testable import ExperimentationSQLite

@Suite("What was leased is remembered until it is settled")
struct LeasedQueueTests {
    private func event(_ number: Int) -> Leased { Leased(sequence: Int64(number), bytes: number * 10) }

    private func queue(_ numbers: some Sequence<Int>) -> LeasedQueue {
        var queue = LeasedQueue()
        for number in numbers { queue.append("\(number)", event(number)) }
        return queue
    }

    @Test(
        "in whatever order it is asked for, each is given once",
        arguments: [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1], [2, 1, 3, 5, 4], [3, 4, 5, 1, 2]]
    )
    func order(_ numbers: [Int]) {
        var queue = queue(1...5)
        #expect(numbers.map { queue.take("\($0)") } == numbers.map(event))
        #expect(numbers.allSatisfy { queue.take("\($0)") == nil })
    }

    @Test("what is added after something was passed over is found beside it")
    func addedLater() {
        var queue = queue(1...3)
        #expect(queue.take("2") == event(2))
        queue.append("4", event(4))
        queue.append("5", event(5))
        #expect(["4", "1", "5", "3"].map { queue.take($0) } == [4, 1, 5, 3].map(event))
    }

    @Test("what was never leased here isn't known, and costs the others nothing")
    func unknown() {
        var queue = queue(1...3)
        #expect(queue.take("x") == nil)
        #expect((1...3).map { queue.take("\($0)") } == (1...3).map(event))
    }

    @Test("what couldn't be settled is taken again")
    func putBack() {
        var queue = queue(1...3)
        for number in 1...2 {
            if let event = queue.take("\(number)") { queue.putBack("\(number)", event) }
        }
        #expect((1...3).reversed().map { queue.take("\($0)") } == (1...3).reversed().map(event))
    }

    @Test("what is gone is forgotten, whether it was passed over or not")
    func forgotten() {
        var queue = queue(1...4)
        #expect(queue.take("2") == event(2))
        queue.append("5", event(5))
        queue.forget([1, 5])
        #expect((1...5).map { queue.take("\($0)") } == [nil, nil, event(3), event(4), nil])
    }

    @Test("thousands pass through it in turns of a few, and none is left")
    func many() {
        var queue = LeasedQueue()
        for start in stride(from: 0, to: 10_000, by: 100) {
            for number in start..<(start + 100) { queue.append("\(number)", event(number)) }
            guard start >= 200 else { continue }
            for number in (start - 200)..<(start - 100) { #expect(queue.take("\(number)") == event(number)) }
        }
        for number in 9_800..<10_000 { #expect(queue.take("\(number)") == event(number)) }
        #expect(queue.take("9999") == nil)
    }
}
