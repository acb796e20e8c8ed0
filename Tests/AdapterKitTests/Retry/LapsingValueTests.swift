import AdapterKit
import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@Suite("A value that lapses")
struct LapsingValueTests {
    private let time = ManualTime()

    /// Answers with these values in turn, each valid for ten seconds; `nil` is a failure.
    private func value(_ answers: [Int?], error: ErrorCode = .transport) -> LapsingValue<Int> {
        let rest = Mutex(answers)
        return LapsingValue(pause: .seconds(60), by: time) { () async throws(ExperimentationError) in
            guard let answer = rest.withLock({ $0.removeFirst() }) else { throw ExperimentationError(error, "no") }
            return (answer, .seconds(10))
        }
    }

    @Test("it is fetched when it is first needed, and again once it has lapsed")
    func lapses() async {
        let value = self.value([1, 2])
        #expect(value.known == nil && value.rest == nil)
        #expect(await value.current() == 1)
        time.advance(by: .seconds(9))
        #expect(await value.current() == 1)
        #expect(value.rest == .seconds(1))
        time.advance(by: .seconds(1))
        #expect(value.known == 1 && value.rest == nil)
        #expect(await value.current() == 2)
    }

    @Test("a known value stays if it can't be renewed, and isn't fetched during a pause")
    func stays() async {
        let value = self.value([1, nil, 2])
        _ = await value.current()
        time.advance(by: .seconds(10))
        #expect(await value.current() == 1)
        #expect(value.rest == .seconds(60))
        time.advance(by: .seconds(59))
        #expect(await value.current() == 1)
        time.advance(by: .seconds(1))
        #expect(await value.current() == 2)
    }

    @Test("while it is unknown, each caller fetches it")
    func unknown() async {
        let value = self.value([nil, nil, 1])
        #expect(await value.current() == nil)
        #expect(await value.current() == nil)
        #expect(await value.current() == 1)
    }

    @Test("a cancelled fetch has no result: the next caller fetches again")
    func cancelled() async {
        let value = self.value([1, nil, 2], error: .cancelled)
        _ = await value.current()
        time.advance(by: .seconds(10))
        #expect(await value.current() == 1)
        #expect(await value.current() == 2)
    }
}
