import Testing

@testable import Experimentation

@Suite("The line of statements")
struct IntakeLineTests {
    @Test(
        "statements are taken in the order of arrival, in any mixture of arriving, taking and putting back",
        arguments: 0..<50
    )
    func order(seed: Int) {
        let dice = Dice(seed)
        var line = IntakeLine<Int>()
        var expected: [Int] = []
        for number in 0..<400 {
            switch dice.below(9) {
            case 0:
                let most = 1 + dice.below(20)
                let taken = line.take(atMost: most)
                // It may take fewer than wait, but never none.
                #expect(taken.count <= most && taken.isEmpty == expected.isEmpty)
                #expect(taken == Array(expected.prefix(taken.count)))
                expected.removeFirst(taken.count)
                guard dice.below(2) == 0 else { continue }
                let back = taken.suffix(dice.below(taken.count + 1))
                line.putBack(back)
                expected = back + expected
            case 8:
                let (most, end) = (dice.below(20), number - dice.below(10))
                let taken = line.take(atMost: most) { $0 < end }
                #expect(taken == Array(expected.prefix(taken.count)))
                #expect(taken.count <= most && taken.allSatisfy { $0 < end })
                expected.removeFirst(taken.count)
            case 1 where number % 50 == 0:
                #expect(line.takeAll() == expected)
                expected = []
            default:
                line.append(number)
                expected.append(number)
            }
            #expect(line.count == expected.count)
        }
        #expect(line.takeAll() == expected)
        #expect(line.isEmpty)
    }

    @Test("taken statements aren't kept alive", arguments: [1, 10])
    func releases(most: Int) {
        final class Statement {}
        var line = IntakeLine<Statement>()
        var first: Statement? = Statement()
        weak let statement = first
        if let first { line.append(first) }
        for _ in 0..<9 { line.append(Statement()) }
        first = nil
        while !line.isEmpty { _ = line.take(atMost: most) }
        #expect(statement == nil)
    }
}
