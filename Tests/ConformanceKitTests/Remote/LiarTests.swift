import ConformanceKit
import ConformanceStages
import ConformanceSubjects
import Experimentation
import Foundation
import Testing

@Suite("A subject that declares capabilities without having them fails")
struct LiarTests {
    /// Creates a subject that declares capabilities but has only a table of answers; anything else is unsupported.
    private static func liar(_ capabilities: [Capability], _ answers: [String: String] = [:]) async throws
        -> RemoteSubject
    {
        let names = capabilities.map { "\"\($0.rawValue)\"" }.joined(separator: ",")
        let description = """
            {"name":"liar","capabilities":[\(names)],"events":["custom","exposure"],"decides":true,
             "wireFields":["userID","name","value","attributes","date"]}
            """
        return try await RemoteSubject { command in
            let text = String(decoding: command, as: UTF8.self)
            if text.contains("\"command\":\"describe\"") { return Array("{\"result\":\(description)}".utf8) }
            let answer = answers.first { text.contains("\"command\":\"\($0.key)\"") }?.value
            return Array((answer.map { "{\"result\":\($0)}" } ?? #"{"unsupported":"not today"}"#).utf8)
        }
    }

    private static let gaps = ["flags", "experiments", "holdouts", "campaigns"]
        .map { #"{"path":"\#($0)","reason":"not today"}"# }.joined(separator: ",")

    private func report(on subject: any ConformanceSubject, _ pattern: String = "*") async throws -> ConformanceReport {
        let cases = ConformanceCase.all.filter { $0.matches(pattern) }
        try #require(!cases.isEmpty)
        return await ConformanceRunner(limit: .seconds(5), width: 8).run(cases, against: [subject])
    }

    @Test(
        "it fails whether it can't be opened, has gaps everywhere or rejects every command as unsupported",
        arguments: [
            [:], ["open": #"{"stage":"s","gaps":[\#(gaps)]}"#], ["open": #"{"stage":"s"}"#],
            ["open": #"{"stage":"s","gaps":[\#(gaps)]}"#, "start": #"{"provider":"p"}"#],
            ["open": #"{"stage":"s"}"#, "start": #"{"provider":"p"}"#],
        ]
    )
    func liar(_ answers: [String: String]) async throws {
        let declared: [Capability] = [.flags, .experiments, .exposures, .tracking]
        let report = try await report(on: try await Self.liar(declared, answers))
        #expect(!report.isSuccess)
        let results = try #require(report.subjects.first).results
        // Cases that need only the declared capabilities can't be skipped.
        for result in results {
            let requires = try #require(ConformanceCase.all.first { $0.name == result.name }).requires
            guard !requires.isEmpty, requires.isSubset(of: declared), answers["start"] == nil else { continue }
            #expect(result.outcome.word == "failed" || result.outcome.word == "unsupported", "\(result.name)")
        }
        for name in ["delivery/one-event", "exposures/recorded-once", "experiments/same-in-every-run"] {
            #expect(results.first { $0.name == name }.map(\.outcome.word) ?? "failed" == "failed", "\(name)")
        }
    }

    @Test("a gap in a declared capability fails the case that meets it", arguments: ["flags", "flags/welcome"])
    func gap(_ path: String) async throws {
        let answers = ["open": #"{"stage":"s","gaps":[{"path":"\#(path)","reason":"not today"}]}"#]
        let report = try await report(on: try await Self.liar([.flags], answers), "consent/reading-needs-none")
        let outcome = try #require(report.subjects.first?.results.first).outcome
        #expect(outcome.word == "failed")
        #expect(outcome.reason == #"liar declares "flags" and has a gap there: \#(path): not today"#)
    }

    @Test("an unsupported command fails the case that sends it")
    func command() async throws {
        let answers = ["open": #"{"stage":"s"}"#, "start": #"{"provider":"p"}"#]
        let report = try await report(
            on: try await Self.liar([.flags, .killSwitch], answers),
            "kill-switch/from-the-start"
        )
        let outcome = try #require(report.subjects.first?.results.first).outcome
        #expect(outcome.word == "failed")
        #expect(outcome.reason == "liar declares what this case needs and says that it is unsupported: not today")
    }
}
