import ConformanceKit
import Experimentation
import Testing

@Suite("Unknown keys and invalid values in a service's answers")
struct UnknownKeyTests {
    @Test(
        "an unknown key in a result is refused by name",
        arguments: [
            ("decisions", #"{"flag":[]}"#, "result.flag"),
            ("decisions", #"{"disabled":true,"why":"tired"}"#, "result.why"),
            ("start", #"{"provider":"p","secret":"s"}"#, "result.secret"),
            ("link", #"{"completed":true}"#, "result.completed"),
            ("deliver", #"{"verdicts":{},"campaign":[]}"#, "result.campaign"),
            ("deliver", #"{"verdicts":{"e-1":{"verdict":"delivered","id":"e-1"}}}"#, "result.verdicts.e-1.id"),
            ("received", #"{"received":[],"taken":[]}"#, "result.taken"),
            ("exchanges", #"{"exchange":[]}"#, "result.exchange"),
            ("clearFaults", #"{"cleared":3}"#, "result.cleared"),
        ]
    )
    func unknownKeys(_ command: String, _ result: String, _ path: String) async throws {
        let told = try await Self.complaint(about: command, answered: result)
        #expect(told.contains("\(path): unknown key"), "\(told)")
    }

    @Test("an event with an impossible time is refused with its position")
    func time() async throws {
        let result = #"{"received":[{"type":"installed","date":"2026-02-30T10:00:00.000Z"}]}"#
        let told = try await Self.complaint(about: "received", answered: result)
        #expect(told.contains("result.received[0].date: expected a day that the calendar has"), "\(told)")
    }

    /// What goes wrong when a command is sent to a service that answers it so.
    private static func complaint(about command: String, answered result: String) async throws -> String {
        let answers = [
            "describe": """
            {"name":"x","capabilities":["flags","tracking","identity-linking"],"events":["installed"],
            "decides":true,"links":true}
            """,
            "open": #"{"stage":"s"}"#, "start": #"{"provider":"p"}"#,
        ]
        let all = answers.merging([command: result]) { $1 }
        let subject = try await RemoteSubject { sent in
            let text = String(decoding: sent, as: UTF8.self)
            let answer = all.first { text.contains("\"command\":\"\($0.key)\"") }?.value
            return Array("{\"result\":\(answer ?? "{}")}".utf8)
        }
        return await complaint(about: command, try await subject.open(.empty))
    }

    /// What goes wrong when a command is sent.
    private static func complaint(about command: String, _ stage: any SubjectStage) async -> String {
        do {
            let roles = try await stage.makeProvider().start(in: ProviderContext())
            let ada = Identity(id: "ada")
            switch command {
            case "decisions":
                guard case .asked(let source)? = roles.decisions else { return "it isn't asked" }
                _ = try await source.decisions(for: EvaluationContext(user: .ada, date: SuiteTime().now))
            case "link":
                let progress = LinkProgress(from: ada, to: Identity(id: "ben"), criteria: [:])
                _ = try await roles.identity?.advance(progress)
            case "deliver":
                let envelope = Envelope(id: "e-1", identity: ada, event: .installed, date: SuiteTime().now)
                guard let sink = roles.events else { return "it takes no events" }
                return "\(await sink.deliver([envelope]).verdicts)"
            case "received": _ = try await stage.received()
            case "exchanges": _ = try await stage.exchanges()
            default: try await stage.clearFaults()
            }
            return "nothing"
        } catch {
            return "\(error)"
        }
    }
}
