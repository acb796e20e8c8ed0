import Experimentation
import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import ExperimentationComposition

@Suite("Rules of one of several vendors", .timeLimit(.minutes(10)))
struct PartRulesTests {
    private static let away = ExperimentationError(.transport, "away")

    /// A vendor that doesn't answer until a test opens its gate.
    private final class Hanging: RulesetSource {
        let fetches = Mutex(0)
        let gate = AsyncGate()
        let answers: Mutex<Said>
        var freshness: Freshness { Freshness(lifetime: .seconds(60)) }

        init(_ answer: Said) { answers = Mutex(answer) }

        func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
            fetches.withLock { $0 += 1 }
            await gate.wait()
            if Task.isCancelled { throw PartRulesTests.away }
            switch answers.withLock({ $0 }) {
            case .rules: return .replaced(NoRules(), validator: nil, raw: [])
            case .disabled: return .disabled
            case .failure: throw PartRulesTests.away
            }
        }

        func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset { NoRules() }
    }

    private struct NoRules: Ruleset {
        var catalogue: FlagCatalogue { Decisions.none.catalogue }
        func decisions(for context: EvaluationContext) -> Decisions { .none }
    }

    /// A vendor's answer.
    enum Said: Sendable, CaseIterable { case rules, disabled, failure }

    /// The result for a caller that asks for the rules.
    private enum Got: Equatable {
        case rules(failure: ErrorCode? = nil)
        case disabled
        case nothing(ErrorCode)
    }

    private static func ask(_ rules: PartRules, inSession: Bool) async -> Got {
        do throws(ExperimentationError) {
            guard let known = try await rules.current(inSession: inSession) else { return .disabled }
            return .rules(failure: known.failure?.code)
        } catch {
            return .nothing(error.code)
        }
    }

    @Test(
        "callers that wait while a vendor hangs share the outcome, whatever it is",
        arguments: Said.allCases,
        [true, false]
    )
    func waiting(said: Said, inSession: Bool) async throws {
        let source = Hanging(said)
        let rules = PartRules(source, in: ProviderContext(environment: ClientEnvironment(time: ManualTime())))
        let users = (0..<20).map { _ in Task { await Self.ask(rules, inSession: inSession) } }
        try await eventually("one asks, the others wait") { rules.turn.waiting == 19 }
        source.gate.open()
        var got: [Got] = []
        for user in users { got.append(await user.value) }
        let expected: Got =
            switch said {
            case .rules: .rules()
            case .disabled: .disabled
            case .failure: .nothing(.transport)
            }
        #expect(got == Array(repeating: expected, count: 20))
        #expect(source.fetches.withLock { $0 } == 1)
    }

    @Test("a caller that is cancelled leaves the request to those that wait for it")
    func cancelled() async throws {
        let source = Hanging(.rules)
        let rules = PartRules(source, in: ProviderContext(environment: ClientEnvironment(time: ManualTime())))
        let first = Task { await Self.ask(rules, inSession: true) }
        try await eventually("the vendor is asked") { source.fetches.withLock { $0 } == 1 }
        let second = Task { await Self.ask(rules, inSession: true) }
        try await eventually("another waits") { rules.turn.waiting == 1 }
        first.cancel()
        #expect(await first.value == .nothing(.cancelled))
        source.gate.open()
        #expect(await second.value == .rules())
        #expect(source.fetches.withLock { $0 } == 1)
    }

    @Test(
        "for two seconds after a failure, users without a session get the last known rules, while a session asks again"
    )
    func patience() async throws {
        let (source, time) = (Hanging(.rules), ManualTime())
        source.gate.open()
        let rules = PartRules(source, in: ProviderContext(environment: ClientEnvironment(time: time)))
        _ = await Self.ask(rules, inSession: false)
        time.advance(by: .seconds(61))
        source.answers.withLock { $0 = .failure }
        for _ in 0..<3 { #expect(await Self.ask(rules, inSession: false) == .rules(failure: .transport)) }
        #expect(source.fetches.withLock { $0 } == 2)
        #expect(await Self.ask(rules, inSession: true) == .rules(failure: .transport))
        #expect(source.fetches.withLock { $0 } == 3)
        source.answers.withLock { $0 = .rules }
        time.advance(by: .seconds(2))
        #expect(await Self.ask(rules, inSession: false) == .rules())
        #expect(source.fetches.withLock { $0 } == 4)
    }

    @Test("a disabled vendor isn't asked for every user, but is asked again when its rules would have expired")
    func disabled() async throws {
        let (source, time) = (Hanging(.disabled), ManualTime())
        source.gate.open()
        let rules = PartRules(source, in: ProviderContext(environment: ClientEnvironment(time: time)))
        for _ in 0..<3 { #expect(await Self.ask(rules, inSession: false) == .disabled) }
        #expect(source.fetches.withLock { $0 } == 1)
        source.answers.withLock { $0 = .rules }
        time.advance(by: .seconds(61))
        #expect(await Self.ask(rules, inSession: false) == .rules())
    }

    @Test("a change announced during a fetch is fetched with the next request")
    func change() async throws {
        let source = Hanging(.rules)
        let rules = PartRules(source, in: ProviderContext(environment: ClientEnvironment(time: ManualTime())))
        let before = Task { await Self.ask(rules, inSession: true) }
        try await eventually("the vendor is asked") { source.fetches.withLock { $0 } == 1 }
        await rules.expire()
        let after = Task { await Self.ask(rules, inSession: true) }
        try await eventually("another waits") { rules.turn.waiting == 1 }
        source.gate.open()
        #expect(await [before.value, after.value] == [.rules(), .rules()])
        #expect(source.fetches.withLock { $0 } == 2)
    }

    @Test("the age of rules counts from the request, however late the answer comes")
    func lateAnswer() async throws {
        let (source, time) = (Hanging(.rules), ManualTime())
        let rules = PartRules(source, in: ProviderContext(environment: ClientEnvironment(time: time)))
        let slow = Task { await Self.ask(rules, inSession: false) }
        try await eventually("the vendor is asked") { source.fetches.withLock { $0 } == 1 }
        time.advance(by: .seconds(61))
        source.gate.open()
        #expect(await slow.value == .rules())
        #expect(await Self.ask(rules, inSession: false) == .rules())
        #expect(source.fetches.withLock { $0 } == 2)
    }

    /// A store that fails its first read.
    private final class Unreadable: StateStoreDecorator {
        let baseState: any StateStore
        private let hasFailed = Mutex(false)

        init(_ state: any StateStore) { baseState = state }

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            let isFirst = hasFailed.withLock { hasFailed in
                defer { hasFailed = true }
                return !hasFailed
            }
            if isFirst { throw ExperimentationError(.store, "The database is locked.") }
            return try await baseState.value(for: key)
        }
    }

    @Test("rules of an earlier run that can't be read at first are read with the next request")
    func unreadable() async throws {
        let (source, state) = (Hanging(.rules), InMemoryStateStore())
        source.gate.open()
        #expect(await Self.ask(PartRules(source, in: ProviderContext(state: state)), inSession: true) == .rules())
        source.answers.withLock { $0 = .failure }
        let rules = PartRules(source, in: ProviderContext(state: Unreadable(state)))
        #expect(await Self.ask(rules, inSession: true) == .nothing(.transport))
        #expect(await Self.ask(rules, inSession: true) == .rules(failure: .transport))
    }

    @Test("a vendor that hangs and fails is asked once for all users, who get the other vendor's flags")
    func users() async throws {
        let source = Hanging(.failure)
        let asked = Vendors.deciding("a", ["flag": "a"]).asked
        let hanging = Vendors.deciding("b").changing { $0.decisions = .computed(source) }
        let client = try await ExperimentationClient(
            provider: ComposedProvider(of: [asked, hanging]),
            environment: ClientEnvironment(time: ManualTime())
        )
        let users = (0..<20).map { number in
            Task { try await client.decisions(for: User(id: "user-\(number)"))["flag"]?.value.stringValue }
        }
        try await eventually("all wait for the vendor that hangs") {
            asked.inner.record.fetches == 20 && source.fetches.withLock { $0 } == 1
        }
        source.gate.open()
        var values: [String?] = []
        for user in users { values.append(try await user.value) }
        #expect(values == Array(repeating: "a", count: 20))
        #expect(source.fetches.withLock { $0 } == 1)
        await client.shutdown(within: .zero)
    }
}
