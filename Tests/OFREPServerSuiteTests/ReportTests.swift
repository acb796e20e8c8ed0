import AdapterKit
import Experimentation
import Foundation
import OFREPServerSuite
import Testing

@Suite("OFREP server reports")
struct ReportTests {
    private static let report = ServerReport(
        server: "http://a<b>",
        results: [
            ServerReport.Result(
                name: "a/one",
                summary: "One.",
                outcome: .passed,
                duration: .milliseconds(2),
                exchanges: []
            ),
            ServerReport.Result(
                name: "a/two",
                summary: "Two.",
                outcome: .failed(["expected <1>", "and \u{1B}[31m2"]),
                duration: .milliseconds(3),
                exchanges: ["POST /x → 500 \"no\""]
            ),
            ServerReport.Result(
                name: "a/three",
                summary: "Three.",
                outcome: .skipped("nobody said"),
                duration: .zero,
                exchanges: []
            ),
        ]
    )

    @Test("text has one line per case, and nothing in it controls a terminal")
    func text() {
        let lines = Self.report.text().split(separator: "\n", omittingEmptySubsequences: false)
        #expect(
            lines == [
                "http://a<b>: 1 passed, 1 failed, 1 skipped", "  passed   a/one",
                "  failed   a/two    expected <1>; and �[31m2",
                "      POST /x → 500 \"no\"", "  skipped  a/three  nobody said", "", "The server breaks the protocol.",
                "",
            ]
        )
    }

    @Test("a run in which nothing could be tried says so, and isn't a success")
    func untried() {
        let report = ServerReport(server: "a", results: [Self.report.results[2]])
        #expect(report.text().hasSuffix("\n\nNothing could be tried.\n"))
        #expect(!report.isSuccess)
    }

    @Test("JUnit's XML has failures and reasons to skip")
    func junit() {
        let text = Self.report.junit()
        #expect(
            text.contains(
                "<testsuite name=\"http://a&lt;b&gt;\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\">"
            )
        )
        #expect(text.contains("<failure message=\"expected &lt;1&gt;; and �[31m2\">"))
        #expect(text.contains("<skipped message=\"nobody said\"/>"))
    }

    @Test("JSON has the counts and every case")
    func json() throws {
        let value = try JSON.parse(Self.report.json(timings: false))
        #expect(value == Self.report.document(timings: false))
        guard case .object(let members) = value else {
            Issue.record("no object")
            return
        }
        #expect(members["counts"] == ["passed": 1, "failed": 1, "skipped": 1])
        #expect(members["success"] == false)
    }

    @Test(
        "a declaration is read strictly",
        arguments: [
            (#"{"features":["entityTags"],"types":{"a":"float"},"tooManyBodyBytes":9}"#, ""),
            (#"{"features":["tags"]}"#, "features"), (#"{"types":{"a":"number"}}"#, "types.a"),
            (#"{"context":{}}"#, "context"), (#"{"context":"ada"}"#, "context"),
            (#"{"otherAttributes":["plan"]}"#, "otherAttributes"), (#"{"otherAttributes":7}"#, "otherAttributes"),
            (#"{"nothing":1}"#, "nothing"),
            (#"{"change":"http://example.com/"}"#, "change"),
            (#"{"otherToken":{"env":"NOT_SET"}}"#, "otherToken"),
        ]
    )
    func declaration(text: String, key: String) {
        do throws(ExperimentationError) {
            var settings = try SettingsReader(json: Array(text.utf8), file: "server.json")
            let declaration = try ServerDeclaration(reading: &settings)
            try settings.finish()
            #expect(key == "")
            #expect(declaration.features == [.entityTags])
            #expect(declaration.types == ["a": .float])
            #expect(declaration.tooManyBodyBytes == 9)
        } catch {
            #expect(!key.isEmpty && error.message.contains("\"\(key)\""), "\(error.message)")
        }
    }
}
