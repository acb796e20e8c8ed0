import Testing

@testable import Experimentation

@Suite("The line of statements")
struct IntakeLineTests {
    private static func entry(_ user: Int) -> Intake.Entry {
        let change = ConsentChange(userID: "\(user)", isGranted: true)
        return Intake.Entry(statement: .consent(change), isNoted: true, answer: Answer())
    }

    private static func users(_ entries: some Sequence<Intake.Entry>) -> [String?] {
        entries.map { $0.statement.change?.userID }
    }

    @Test("what arrives first is taken first, in any mixture of arriving, taking and putting back", arguments: 0..<50)
    func order(seed: Int) {
        let dice = Dice(seed)
        var line = IntakeLine()
        var expected: [String?] = []
        for number in 0..<400 {
            switch dice.below(8) {
            case 0:
                let most = 1 + dice.below(20)
                let taken = line.take(atMost: most)
                // It may take fewer than wait, but never none.
                #expect(taken.count <= most && taken.isEmpty == expected.isEmpty)
                #expect(Self.users(taken) == Array(expected.prefix(taken.count)))
                expected.removeFirst(taken.count)
                guard dice.below(2) == 0 else { continue }
                let back = taken.suffix(dice.below(taken.count + 1))
                line.putBack(back)
                expected = Self.users(back) + expected
            case 1 where number % 50 == 0:
                #expect(Self.users(line.takeAll()) == expected)
                expected = []
            default:
                line.append(Self.entry(number))
                expected.append("\(number)")
            }
            #expect(line.isEmpty == expected.isEmpty)
        }
        #expect(Self.users(line.takeAll()) == expected)
        #expect(line.isEmpty)
    }
}
