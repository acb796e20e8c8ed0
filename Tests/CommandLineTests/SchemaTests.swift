import Foundation
import Testing

@Suite("Schemas")
struct SchemaTests {
    /// A JSON example in a page, with the schema that the page names.
    struct Example: Sendable, CustomTestStringConvertible {
        let page: String
        let schema: String
        let text: String
        var testDescription: String { "\(page): \(schema)" }
    }

    /// JSON code blocks after `<!-- schema: name -->`; with `lines` after the name, each line is an example.
    static let examples: [Example] = {
        let docs = Tool.root.appending(path: "docs")
        let names =
            (FileManager.default.enumerator(atPath: docs.path)?.compactMap { $0 as? String } ?? [])
            .filter { $0.hasSuffix(".md") }.map { "docs/\($0)" } + ["README.md"]
        return names.sorted().flatMap { name -> [Example] in
            guard let text = try? String(contentsOf: Tool.root.appending(path: name), encoding: .utf8) else {
                return []
            }
            return text.matches(of: /<!-- schema: ([a-z-]+)( lines)? -->\n+```json\n([\s\S]*?)```/).flatMap { match in
                let body = String(match.output.3)
                let parts = match.output.2 == nil ? [body] : body.split(separator: "\n").map(String.init)
                return parts.map { Example(page: name, schema: String(match.output.1), text: $0) }
            }
        }
    }()

    @Test("every example in the documentation follows its schema", arguments: examples)
    func examplesFollow(example: Example) throws {
        let problems = try JSONSchema(named: example.schema).problems(of: JSONValue(example.text))
        #expect(problems == [])
    }

    @Test("the documentation has examples of every input")
    func inputsHaveExamples() {
        let shown = Set(Self.examples.map(\.schema))
        for schema in ["world", "scenario", "fault-script", "user", "event", "evaluation", "ledger", "mock"] {
            #expect(shown.contains(schema), "no example of \(schema)")
        }
    }

    @Test("the validator supports each schema, and each schema rejects unknown members")
    func schemasAreStrict() throws {
        let folder = Tool.root.appending(path: "docs/schemas").path
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(".schema.json") }.map { String($0.dropLast(".schema.json".count)) }
        #expect(names.count >= 14)
        for name in names.sorted() {
            let schema = try JSONSchema(named: name)
            #expect(!schema.problems(of: .string("nonsense")).isEmpty, "\(name) takes a text")
            #expect(!schema.problems(of: .object(["nonsense": .null])).isEmpty, "\(name) takes any key")
        }
    }

    @Test(
        "the validator detects violations",
        arguments: [
            ("ledger", #"{"ledger":{"accepted":1,"delivered":1,"pending":0,"purged":0,"dropped":{}}}"#, true),
            ("ledger", #"{"ledger":{"accepted":-1,"delivered":1,"pending":0,"purged":0,"dropped":{}}}"#, false),
            ("ledger", #"{"ledger":{"accepted":1.5,"delivered":1,"pending":0,"purged":0,"dropped":{}}}"#, false),
            ("ledger", #"{"ledger":{"accepted":1,"delivered":1,"pending":0,"purged":0}}"#, false),
            ("user", #"{"user":{"id":"a"}}"#, true), ("user", #"{"user":{"id":""}}"#, false),
            ("user", #"{"user":{"id":"a","name":"b"}}"#, false),
            ("event", #"{"user":{"id":"a"},"event":{"type":"installed"}}"#, true),
            ("event", #"{"user":{"id":"a"},"event":{"type":"installed","name":"x"}}"#, false),
            ("event", #"{"user":{"id":"a"},"event":{"type":"installed"},"at":"yesterday"}"#, false),
            ("fault-script", #"[{"on":"hits","times":2,"fault":{"kind":"status","status":503}}]"#, true),
            ("fault-script", #"[{"fault":{"kind":"status"}}]"#, false),
        ]
    )
    func validatorBites(schema: String, text: String, isGood: Bool) throws {
        #expect(try JSONSchema(named: schema).problems(of: JSONValue(text)).isEmpty == isGood)
    }
}
