import Testing

@testable import Experimentation

@Suite("Numbers of fetches")
struct FetchNumbersTests {
    enum Step: Sendable { case begin, end, expire }

    struct Case: Sendable, CustomTestStringConvertible {
        var steps: [Step]
        var first: Int
        var forced: Int
        var testDescription: String { "\(steps)" }
    }

    @Test(
        "a question is answered by the fetch in progress, unless it must be newer or a change was announced meanwhile",
        arguments: [
            Case(steps: [], first: 1, forced: 1),
            Case(steps: [.begin], first: 1, forced: 2),
            Case(steps: [.begin, .end], first: 2, forced: 2),
            Case(steps: [.begin, .expire], first: 2, forced: 2),
            Case(steps: [.begin, .expire, .end], first: 2, forced: 2),
            Case(steps: [.begin, .end, .expire, .begin], first: 2, forced: 3),
            Case(steps: [.expire, .begin], first: 1, forced: 2),
        ]
    )
    func first(_ example: Case) {
        let numbers = Self.after(example.steps)
        #expect([numbers.first(), numbers.first(isForced: true)] == [example.first, example.forced])
    }

    @Test("what was fetched before a change was announced, or during that fetch, is outdated")
    func outdated() {
        let numbers = Self.after([.begin, .end, .begin, .expire, .end, .begin])
        #expect((0...3).map { numbers.isOutdated($0) } == [true, true, true, false])
    }

    private static func after(_ steps: [Step]) -> FetchNumbers {
        var numbers = FetchNumbers()
        for step in steps {
            switch step {
            case .begin: _ = numbers.begin()
            case .end: numbers.end()
            case .expire: numbers.expire()
            }
        }
        return numbers
    }
}
