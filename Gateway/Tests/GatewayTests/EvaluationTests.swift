import AdapterKit
import Experimentation
import ExperimentationTesting
import FlagManifest
import GatewayBodies
import HTTPTypes
import Testing

@testable import GatewayServer

@Suite("Evaluation over the wire")
struct EvaluationTests {
    private static let path = "/ofrep/v1/evaluate/flags"
    private static let ada = #"{"context":{"targetingKey":"ada"}}"#

    @Test("each flag is written in its type, and found by either spelling of its key")
    func single() async throws {
        let found = try await Served.run { served in
            var found: [String: String] = [:]
            for key in [
                "bool", "text", "whole", "float", "fraction", "object", "none", "plan", "a/b", "a%2Fb", "a%20b",
                "%C3%A9",
            ] {
                let answer = try await served.wire.post("\(Self.path)/\(key)", Self.ada)
                found[key] = "\(answer.status) \(answer.body)"
                #expect(answer.fields["content-type"] == "application/json")
            }
            return found
        }
        func item(_ key: String, _ value: String, variant: String = "on") -> String {
            #"200 {"key":"\#(key)","reason":"STATIC","value":\#(value),"variant":"\#(variant)"}"#
        }
        #expect(
            found == [
                "bool": item("bool", "true"), "text": item("text", #""green""#), "whole": item("whole", "7"),
                "float": item("float", "10.0"), "fraction": item("fraction", "0.25"),
                "object": item("object", #"{"a":[1,2]}"#), "a/b": item("a/b", #""slash""#),
                "a%2Fb": item("a/b", #""slash""#), "a%20b": item("a b", #""space""#), "%C3%A9": item("é", #""letter""#),
                "none": #"200 {"key":"none","reason":"DEFAULT","variant":"left"}"#,
                "plan": #"200 {"key":"plan","reason":"DEFAULT","value":10.0,"variant":"small"}"#,
            ]
        )
    }

    @Test(
        "an evaluation that fails has a code and a message",
        arguments: [
            ("text", "", 400, "TARGETING_KEY_MISSING"), ("text", "{}", 400, "TARGETING_KEY_MISSING"),
            ("text", #"{"context":{}}"#, 400, "TARGETING_KEY_MISSING"),
            ("text", #"{"context":{"targetingKey":""}}"#, 400, "TARGETING_KEY_MISSING"),
            ("text", #"{"context":null}"#, 400, "TARGETING_KEY_MISSING"),
            ("text", #"{"context":7}"#, 400, "INVALID_CONTEXT"),
            ("text", #"{"context":{"targetingKey":7}}"#, 400, "INVALID_CONTEXT"),
            (
                "text", #"{"context":{"targetingKey":""# + String(repeating: "u", count: 4_097) + #""}}"#, 400,
                "INVALID_CONTEXT"
            ),
            ("text", "[]", 400, "PARSE_ERROR"), ("text", "{", 400, "PARSE_ERROR"),
            ("text", #"{"context":{},"context":{}}"#, 400, "PARSE_ERROR"),
            ("other", #"{"context":{"targetingKey":"ada"}}"#, 404, "FLAG_NOT_FOUND"),
        ]
    )
    func failures(key: String, body: String, status: Int, code: String) async throws {
        let (single, bulk) = try await Served.run { served in
            (
                try await served.wire.post("\(Self.path)/\(key)", body), try await served.wire.post(Self.path, body)
            )
        }
        #expect(single.status == status)
        #expect(single.body.contains(#""errorCode":"\#(code)""#))
        #expect(single.body.contains(#""errorDetails":""#))
        #expect(single.body.contains(#""key":"\#(key)""#))
        guard status == 400 else { return }
        #expect(bulk.status == 400)
        #expect(bulk.body.contains(#""errorCode":"\#(code)""#))
        #expect(!bulk.body.contains(#""key""#))
    }

    @Test("a bulk answer has a tag that covers the whole context, and no body if the client has that tag")
    func bulk() async throws {
        try await Served.run { served in
            let first = try await served.wire.post(Self.path, Self.ada)
            let tag = try #require(first.fields["etag"])
            #expect(first.status == 200)
            #expect(first.body.hasPrefix(#"{"eventStreams":[{"endpoint":{"requestUri":"/ofrep/v1/stream?ticket="#))
            #expect(first.body.contains(#""metadata":{"events":"/v1/events""#))
            let known = try await served.wire.post(Self.path, Self.ada, ["If-None-Match": "W/\(tag)"])
            #expect(known.status == 304)
            #expect(known.body == "")
            #expect(known.fields["etag"] == tag)
            // Another attribute, the same key: a tag that covered the key alone would be a wrong 304.
            let pro = #"{"context":{"targetingKey":"ada","plan":"pro"}}"#
            let other = try await served.wire.post(Self.path, pro, ["If-None-Match": tag])
            #expect(other.status == 200)
            #expect(other.body.contains(#""value":12.5"#))
            served.provider.replace(flags: [InMemoryFlag("text", "red")])
            try await served.client.refresh(force: true)
            let changed = try await served.wire.post(Self.path, Self.ada, ["If-None-Match": tag])
            #expect(changed.status == 200)
            #expect(changed.body.contains(#""value":"red""#))
        }
    }

    @Test("when the vendor can't be reached, the last rules answer; when it is switched off, the answer says so")
    func vendorTrouble() async throws {
        let provider = InMemoryProvider(flags: Served.flags, freshness: Freshness(lifetime: .zero))
        try await Served.run(provider) { served in
            let path = "\(Self.path)/text"
            #expect(try await served.wire.post(path, Self.ada).body.contains("STATIC"))
            provider.setFailure(ExperimentationError(.transport, "gone"))
            let stale = try await served.wire.post(path, Self.ada)
            #expect(stale.status == 200)
            #expect(stale.body == #"{"key":"text","reason":"STALE","value":"green","variant":"on"}"#)
            #expect(try await served.wire.post(Self.path, Self.ada).body.contains("STALE"))
            provider.setFailure(nil)
            provider.setDisabled(true)
            let disabled = try await served.wire.post(path, Self.ada)
            #expect(disabled.body == #"{"key":"text","reason":"DISABLED","variant":""}"#)
            let all = try await served.wire.post(Self.path, Self.ada)
            #expect(all.status == 200)
            #expect(!all.body.contains(#""value""#))
            #expect(all.body.contains(#""key":"plan","reason":"DISABLED""#))
            let unknown = try await served.wire.post("\(Self.path)/nothing", Self.ada)
            #expect(unknown.status == 404)
            #expect(unknown.body.contains(#""errorCode":"FLAG_NOT_FOUND""#))
        }
    }

    @Test(
        "an unusable answer of the vendor isn't blamed on the request",
        arguments: [
            ExperimentationError(.parseError, "x"), ExperimentationError(.tooLarge, "x"),
            // Rules are fetched without a user, so it can't be a user's attributes that are too large.
            ExperimentationError(.tooLarge, "x", cause: RefusingStatus(431)),
        ]
    )
    func vendorAnswer(error: ExperimentationError) async throws {
        let provider = InMemoryProvider(flags: Served.flags, freshness: Freshness(lifetime: .zero))
        try await Served.run(provider) { served in
            provider.setFailure(error)
            for path in [Self.path, "\(Self.path)/text"] {
                let answer = try await served.wire.post(path, Self.ada)
                #expect(answer.status == 503)
                #expect(answer.fields["retry-after"] == "1")
                #expect(answer.body.contains(#""errorCode":"GENERAL""#))
            }
            provider.setFailure(nil)
            #expect(try await served.wire.post("\(Self.path)/text", Self.ada).status == 200)
            provider.setFailure(error)
            let stale = try await served.wire.post("\(Self.path)/text", Self.ada)
            #expect(stale.status == 200)
            #expect(stale.body == #"{"key":"text","reason":"STALE","value":"green","variant":"on"}"#)
        }
    }

    @Test(
        "while the vendor is switched off, a flag is reported as absent only if flags were seen, even before a reload"
    )
    func switchedOff() async throws {
        let provider = InMemoryProvider(flags: Served.flags)
        var tenant = Served.tenant()
        tenant.types = ["price": .float]
        let gateway = try await Gateway(
            GatewayConfiguration(tenants: [tenant]),
            environment: ClientEnvironment()
        ) { _ in provider }
        func status(_ key: String) async -> Int {
            let request = EvaluationRequest(user: User(id: "ada"), isConsentStated: false)
            return await gateway.responder.tenants.tenants[0].evaluator.evaluate(key, request).status.code
        }
        provider.setDisabled(true)
        #expect(await status("text") == 200)
        #expect(await status("price") == 200)
        provider.setDisabled(false)
        try await gateway.responder.tenants.tenants[0].connection.client.refresh(force: true)
        #expect(await status("text") == 200)
        #expect(await status("price") == 404)
        provider.setDisabled(true)
        try await gateway.responder.tenants.tenants[0].connection.client.refresh(force: true)
        tenant.tokens = [TokenDigest(of: "another")]
        try await gateway.reload([tenant])
        #expect(await status("text") == 200)
        #expect(await status("nothing") == 404)
    }

    @Test("attributes that the vendor refuses as too large are blamed on the request")
    func largeAttributes() {
        let error = ExperimentationError(.tooLarge, "x", cause: RefusingStatus(413))
        #expect(ProtocolError(error) == ProtocolError(.invalidContext, "x"))
    }

    @Test("without rules the answer is 503 with Retry-After")
    func noRules() async throws {
        let provider = InMemoryProvider(flags: Served.flags)
        provider.setFailure(ExperimentationError(.transport, "gone"))
        try await Served.run(provider) { served in
            for path in [Self.path, "\(Self.path)/text"] {
                let answer = try await served.wire.post(path, Self.ada)
                #expect(answer.status == 503)
                #expect(answer.fields["retry-after"] == "1")
                #expect(answer.body.contains(#""errorCode":"GENERAL""#))
            }
            #expect(try await served.wire.request("GET", "/ready").status == 503)
            #expect(try await served.wire.request("GET", "/health").status == 200)
            provider.setFailure(nil)
            #expect(try await served.wire.post("\(Self.path)/text", Self.ada).status == 200)
            #expect(try await served.wire.request("GET", "/ready").status == 200)
        }
    }

    @Test("a single evaluation records an exposure once; a bulk evaluation records none")
    func exposures() async throws {
        let experiment = InMemoryExperiment(
            Experiment(id: "checkout"),
            arms: [.init(Variation(id: "green"), weight: 100, flags: ["color": "green"])]
        )
        let provider = InMemoryProvider(experiments: [experiment], needsConsent: false)
        try await Served.run(provider) { served in
            _ = try await served.wire.post(Self.path, Self.ada)
            try await served.client.flush()
            #expect(provider.exposures.isEmpty)
            for _ in 0..<3 { _ = try await served.wire.post("\(Self.path)/color", Self.ada) }
            try await served.client.flush()
            #expect(provider.exposures.map(\.assignment.variation.id) == ["green"])
        }
    }

    @Test("the manifest has each flag with its type, sorted")
    func manifest() async throws {
        let answer = try await Served.run { served in
            try await served.wire.request("GET", "/openfeature/v0/manifest", ["X-API-Key": "t0ken"])
        }
        #expect(answer.status == 200)
        #expect(answer.fields["x-manifest-capabilities"] == "read")
        let start =
            #"{"flags":[{"defaultValue":"","key":"a b","type":"string"},{"defaultValue":"","key":"a/b","type":"string"},{"defaultValue":false,"key":"bool","type":"boolean"},{"defaultValue":0.0,"key":"float","type":"float"},"#
        #expect(answer.body.hasPrefix(start))
        #expect(answer.body.contains(#"{"defaultValue":0.0,"key":"plan","type":"float"}"#))
        #expect(!answer.body.contains("none"))
    }
}
