import AdapterKit
import Experimentation
import Foundation
import GatewayBodies
import Testing

@testable import GatewayServer

/// Where the validator of the command line's tests finds schemas: both of them as one, because it follows no reference into
/// another file.
enum Tool {
    static let root: URL = {
        let folder = FileManager.default.temporaryDirectory.appending(path: "schemas-\(UUID().uuidString)")
        let schemas = folder.appending(path: "docs/schemas")
        try? FileManager.default.createDirectory(at: schemas, withIntermediateDirectories: true)
        guard case .object(var events)? = try? read("gateway-events"), case .object(let event)? = try? read("event"),
            case .object(let own)? = events["$defs"], case .object(let others)? = event["$defs"]
        else { return folder }
        events["$defs"] = .object(own.merging(others) { own, _ in own })
        try? JSONEncoder().encode(FlagValue.object(events))
            .write(to: schemas.appending(path: "gateway-events.schema.json"))
        return folder
    }()

    /// The folder of the repository's documentation.
    static let docs = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../../docs")

    private static func read(_ name: String) throws -> FlagValue {
        try JSON.parse([UInt8](Data(contentsOf: docs.appending(path: "schemas/\(name).schema.json"))))
    }
}

@Suite("The schema of events")
struct EventSchemaTests {
    @Test("the schema that bulk answers name is served, and equals the documented one")
    func served() async throws {
        try await Served.run { served in
            let bulk = try await served.wire.post(
                "/ofrep/v1/evaluate/flags",
                #"{"context":{"targetingKey":"ada"}}"#
            )
            #expect(bulk.body.contains(#""eventsSchema":"/v1/schemas/gateway-events.schema.json""#), "\(bulk.body)")
            for name in ["gateway-events", "event"] {
                let answer = try await served.wire.request("GET", "/v1/schemas/\(name).schema.json")
                let file = Tool.docs.appending(path: "schemas/\(name).schema.json")
                #expect(answer.status == 200)
                #expect(answer.body == (try String(contentsOf: file, encoding: .utf8)))
            }
            #expect(try await served.wire.request("GET", "/v1/schemas/other.json").status == 404)
        }
    }

    private static let good = [
        #"{"id":"a","user":{"id":"ada"},"event":{"type":"installed"}}"#,
        #"{"id":"a","user":{"id":"ada","consent":true},"event":{"type":"goalCompleted","name":"signed-up"}}"#,
        #"{"id":"a","user":{"id":"ada"},"event":{"type":"consentChanged","granted":false},"at":"2026-11-21T10:00:00.000Z"}"#,
        #"{"events":[]}"#,
        #"{"events":[{"id":"a","user":{"id":"ada"},"event":{"type":"screenView","name":"home"}}]}"#,
    ]

    private static let wrong = [
        #"{}"#, #"[]"#, #"{"events":7}"#, #"{"events":[7]}"#, #"{"events":[],"more":1}"#,
        #"{"user":{"id":"ada"},"event":{"type":"installed"}}"#,
        #"{"id":"","user":{"id":"ada"},"event":{"type":"installed"}}"#,
        #"{"id":7,"user":{"id":"ada"},"event":{"type":"installed"}}"#,
        #"{"id":"a","event":{"type":"installed"}}"#, #"{"id":"a","user":{},"event":{"type":"installed"}}"#,
        #"{"id":"a","user":"ada","event":{"type":"installed"}}"#, #"{"id":"a","user":{"id":"ada"}}"#,
        #"{"id":"a","user":{"id":"ada"},"event":{}}"#, #"{"id":"a","user":{"id":"ada"},"event":{"type":"nothing"}}"#,
        #"{"id":"a","user":{"id":"ada"},"event":{"type":"goalCompleted"}}"#,
        #"{"id":"a","user":{"id":"ada"},"event":{"type":"installed"},"more":1}"#,
        #"{"id":"a","user":{"id":"ada","more":1},"event":{"type":"installed"}}"#,
        #"{"id":"a","user":{"id":"ada"},"event":{"type":"installed"},"at":7}"#,
    ]

    private static func isTaken(_ body: String) -> Bool {
        guard let request = try? EventsRequest(body: Array(body.utf8), consent: .unknown) else { return false }
        return request.events.allSatisfy { (try? $0.get()) != nil }
    }

    @Test("the schema and the gateway agree on which bodies are valid", arguments: good + wrong)
    func agree(body: String) throws {
        let problems = try JSONSchema(named: "gateway-events").problems(of: JSONValue(body))
        #expect(problems.isEmpty == Self.good.contains(body), "\(problems)")
        #expect(Self.isTaken(body) == Self.good.contains(body))
    }

    @Test("the examples of requests in docs/gateway.md are valid")
    func examples() throws {
        let page = try String(contentsOf: Tool.docs.appending(path: "gateway.md"), encoding: .utf8)
        let examples = page.matches(of: /```json\n({"id":[\s\S]*?)```/).map { String($0.output.1) }
        #expect(!examples.isEmpty)
        for example in examples {
            #expect(try JSONSchema(named: "gateway-events").problems(of: JSONValue(example)) == [])
            #expect(Self.isTaken(example))
        }
    }
}
