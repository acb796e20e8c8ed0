import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@Suite("Hooks")
struct HookTests {
    /// Records the order of the stages of all hooks.
    final class Diary: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func write(_ line: String) { lines.withLock { $0.append(line) } }
    }

    struct Named: Hook {
        let name: String
        let diary: Diary
        var failsBefore = false
        var failsAfter = false

        func before(_ context: HookContext, data: inout HookData) throws(ExperimentationError) -> Attributes? {
            data["mark"] = .string(name)
            diary.write("\(name) before \(context.flagKey)")
            if failsBefore { throw ExperimentationError(.general, "\(name) refuses") }
            return nil
        }
        func after(
            _ context: HookContext,
            details: EvaluationDetails<FlagValue>,
            data: inout HookData
        ) throws(ExperimentationError) {
            diary.write("\(name) after \(details.value) \(data["mark"] ?? .null)")
            if failsAfter { throw ExperimentationError(.general, "\(name) refuses") }
        }
        func error(_ context: HookContext, error: ExperimentationError, data: inout HookData) {
            diary.write("\(name) error \(error.code)")
        }
        func finally(_ context: HookContext, details: EvaluationDetails<FlagValue>, data: inout HookData) {
            diary.write("\(name) finally \(details.value)")
        }
    }

    func session(_ hooks: [any Hook]) async throws -> UserSession {
        let client = try await ExperimentationClient(
            provider: InMemoryProvider(flags: [InMemoryFlag("a", true)]),
            options: ClientOptions(hooks: hooks)
        )
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        return session
    }

    @Test("stages run in order: before forwards, the others backwards, finally last of all")
    func order() async throws {
        let diary = Diary()
        let session = try await session([Named(name: "1", diary: diary), Named(name: "2", diary: diary)])
        #expect(session.bool("a", default: false))
        #expect(
            diary.all == [
                "1 before a", "2 before a", "2 after true \"2\"", "1 after true \"1\"", "2 finally true",
                "1 finally true",
            ]
        )
    }

    @Test("a failed evaluation runs *error* instead of *after*")
    func failed() async throws {
        let diary = Diary()
        let session = try await session([Named(name: "1", diary: diary)])
        _ = session.details("missing", default: false)
        #expect(diary.all == ["1 before missing", "1 error FLAG_NOT_FOUND", "1 finally false"])
    }

    @Test(
        "a hook that fails in *before* or *after* gives the default, and skips the later hooks' stage",
        arguments: [
            (true, false, ["1 before a", "2 error GENERAL", "1 error GENERAL", "2 finally false", "1 finally false"]),
            (
                false, true,
                [
                    "1 before a", "2 before a", "2 after true \"2\"", "1 after true \"1\"", "2 error GENERAL",
                    "1 error GENERAL", "2 finally false", "1 finally false",
                ]
            ),
        ]
    )
    func refusing(before: Bool, after: Bool, expected: [String]) async throws {
        let diary = Diary()
        let session = try await session([
            Named(name: "1", diary: diary, failsBefore: before, failsAfter: after), Named(name: "2", diary: diary),
        ])
        let details = session.details("a", default: false)
        #expect(details.value == false)
        #expect(details.reason == .error)
        #expect(details.errorMessage == "1 refuses")
        #expect(diary.all == expected)
    }

    @Test("a hook's attributes take effect where a client decides for a user")
    func attributes() async throws {
        let client = try await ExperimentationClient(
            provider: InMemoryProvider(flags: [
                InMemoryFlag("vip", variants: ["y": true, "n": false], defaultVariant: "n") {
                    $0["vip"] == true ? "y" : nil
                }
            ])
        )
        try await client.refresh()
        let hook = RecordingHook(attributes: ["vip": true])
        #expect(client.details("vip", default: false, for: User(id: "ada")).value == false)
        let details = client.details(
            "vip",
            default: false,
            for: User(id: "ada"),
            options: EvaluationOptions(hooks: [hook], hints: ["trace": "t-1"])
        )
        #expect(details.value)
        #expect(hook.calls.map(\.stage) == ["before", "after", "finally"])
        #expect(hook.calls.map { $0.context.hints["trace"] } == ["t-1", "t-1", "t-1"])
        #expect(hook.calls.map { $0.context.evaluationContext["vip"] } == [nil, true, true])
    }
}
