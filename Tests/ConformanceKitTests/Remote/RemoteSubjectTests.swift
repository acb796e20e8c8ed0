import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import Testing

@Suite("An adapter in another process, in another language")
struct RemoteSubjectTests {
    @Test("the example service of the guide keeps what it declares, over its JSON endpoint")
    func conforms() async throws {
        let service = try PythonService()
        let subject = try await RemoteSubject.connect(to: service.url)
        #expect(subject.name == "python-example")
        let report = await ConformanceRunner(width: 8).run(ConformanceCase.all, against: [subject])
        let results = try #require(report.subjects.first).results
        #expect(results.filter(\.outcome.isFailure).map(\.account) == [])
        #expect(results.count { $0.outcome == .passed } > 150)
        withExtendedLifetime(service) {}
    }

    @Test(
        "a service that prints garbage, lies or isn't there fails by name",
        arguments: [
            ("<html>", "is not complete, valid JSON"),
            ("{}", "result: expected an object"),
            (#"{"result":{"name":"","capabilities":[]}}"#, "name: expected a text that is not empty"),
            (#"{"result":{"name":"x","capabilities":[1]}}"#, "capabilities[0]: expected a text"),
            (#"{"result":{"name":"x","wireFields":["smell"]}}"#, "wireFields: expected some of"),
            (#"{"error":{"code":"GENERAL","message":"out of order"}}"#, "out of order"),
        ]
    )
    func garbage(_ answer: String, _ message: String) async {
        let error = await #expect(throws: (any Error).self) {
            _ = try await RemoteSubject { _ in Array(answer.utf8) }
        }
        #expect("\(error.map { "\($0)" } ?? "no error")".contains(message) || message.hasPrefix("result"))
    }

    @Test("a service that goes mad in the middle fails its cases and no other subject's")
    func madness() async throws {
        let description = #"{"result":{"name":"mad","capabilities":["flags"],"decides":true}}"#
        let subject = try await RemoteSubject { command in
            let text = String(decoding: command, as: UTF8.self)
            return Array((text.contains("\"describe\"") ? description : "\u{1}{{").utf8)
        }
        let cases = Array(ConformanceCase.all.prefix(2))
        let report = await ConformanceRunner().run(cases, against: [subject, InMemorySubject()])
        #expect(
            report.subjects.map { $0.results.map(\.outcome.word) } == [["failed", "failed"], ["passed", "passed"]]
        )
    }

    @Test("nobody at the address is said in one line")
    func nobody() async {
        await #expect(throws: ExperimentationError.self) { try await RemoteSubject.connect(to: "http://127.0.0.1:9/") }
        await #expect(throws: ExperimentationError.self) { try await RemoteSubject.connect(to: "http://example.com/") }
    }
}
