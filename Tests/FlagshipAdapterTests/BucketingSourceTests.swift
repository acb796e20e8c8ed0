import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import FlagshipAdapter

@Suite("Bucketing: the file")
struct BucketingSourceTests {
    static func source(_ bench: Bench) async throws -> any RulesetSource {
        guard case .computed(let source) = try await bench.roles(.bucketing).decisions else {
            throw ExperimentationError(.general, "the role is missing")
        }
        return source
    }

    @Test("F38 a 304 keeps the stored file")
    func unchanged() async throws {
        let bench = try await Bench()
        let source = try await Self.source(bench)
        guard case .replaced(let rules, let validator, let raw) = try await source.ruleset(ifNot: nil) else {
            Issue.record("the first file must be new")
            return
        }
        guard case .unchanged = try await source.ruleset(ifNot: validator) else {
            Issue.record("the same file must be unchanged")
            return
        }
        let restored = try source.ruleset(restoring: raw)
        let context = EvaluationContext(user: User(id: "ada"), date: bench.time.now)
        #expect(restored.decisions(for: context) == rules.decisions(for: context))
        #expect(String(decoding: raw, as: UTF8.self) == Bench.file)
    }

    @Test(
        "F39 requests send the file's date unchanged, without key or SDK; a date is kept only with a good file"
    )
    func validator() async throws {
        let bench = try await Bench()
        let source = try await Self.source(bench)
        guard case .replaced(_, let validator, _) = try await source.ruleset(ifNot: nil) else {
            Issue.record("the first file must be new")
            return
        }
        _ = try await source.ruleset(ifNot: validator)
        let requests = bench.transport.exchanges("bucketing").map(\.request)
        #expect(requests.map(\.path) == Array(repeating: "/\(Bench.environmentID)/bucketing.json", count: 2))
        #expect(requests.map { $0.header("if-modified-since") } == [nil, validator])
        #expect(validator?.hasSuffix(" GMT") == true)
        #expect(requests.allSatisfy { $0.header("x-api-key") == nil && $0.header("x-sdk-client") == nil })
    }

    @Test(
        "every other status is an error, and so is an unexpected 304",
        arguments: [204, 206, 302, 304, 404, 500]
    )
    func otherStatuses(status: Int) async throws {
        let bench = try await Bench()
        bench.transport.fail("bucketing", .status(status))
        let source = try await Self.source(bench)
        await #expect(throws: ExperimentationError.self) { _ = try await source.ruleset(ifNot: nil) }
    }

    @Test(
        "bad files are clear errors, and don't trap",
        arguments: [
            "", "{", "[]", "7", "null", #"{"campaigns":7}"#, #"{"campaigns":null}"#, "{}",
            Bench.file.prefix(Bench.file.count / 2).description,
            #"{"campaigns":[{"id":1e999}]}"#, #"{"campaigns":[{"id":NaN}]}"#,
        ]
    )
    func badFiles(text: String) async throws {
        let error = try await Self.error(reading: text)
        #expect(error.code == .parseError && error.message.hasPrefix("the bucketing file: "), "\(error)")
    }

    @Test("a deeply nested file is a clear error, and doesn't trap")
    func deepFile() async throws {
        let error = try await Self.error(reading: String(repeating: "[", count: 100_000))
        #expect(error.code == .parseError && error.message.hasPrefix("the bucketing file: "), "\(error)")
    }

    /// The error of a bad file from the vendor, which isn't restored from the store either.
    private static func error(reading text: String) async throws -> ExperimentationError {
        let bench = try await Bench()
        bench.transport.fail("bucketing", .body(text))
        let source = try await source(bench)
        #expect(throws: ExperimentationError.self) { _ = try source.ruleset(restoring: Array(text.utf8)) }
        return try await #require(throws: ExperimentationError.self) { _ = try await source.ruleset(ifNot: nil) }
    }

    @Test(
        "an unreadable part of a file hides nothing else",
        arguments: [
            "7", "null", "{}", #"{"id":7,"variationGroups":"x"}"#, #"{"id":"x","variationGroups":[7]}"#,
            #"{"id":"x","variationGroups":[{"id":"g","variations":[null],"targeting":{"targetingGroups":[{"targetings":[]}]}}]}"#,
            #"{"id":"x","variationGroups":[{"id":"g","variations":[{"id":[],"allocation":{},"modifications":7}],"targeting":7}]}"#,
            #"{"id":"camp-test","variationGroups":[]}"#,
        ]
    )
    func partlyBad(campaign: String) async throws {
        let bench = try await Bench(Bench.file.replacing(#""campaigns":["#, with: #""campaigns":[\#(campaign),"#))
        guard case .replaced(let rules, _, _) = try await Self.source(bench).ruleset(ifNot: nil) else {
            Issue.record("the file must be new")
            return
        }
        let context = EvaluationContext(user: User(id: "ada"), date: bench.time.now)
        #expect(rules.decisions(for: context)["cta"]?.value == "new")
    }

    @Test("a file of five megabytes is read and decides")
    func largeFile() async throws {
        let one =
            #"{"id":"c-N","name":"N","type":"ab","variationGroups":[{"id":"g-N","targeting":{"targetingGroups":[{"targetings":[{"operator":"EQUALS","key":"city","value":"town-N"}]}]},"variations":[{"id":"a-N","allocation":50,"modifications":{"type":"FLAG","value":{"flag-N":"\#(String(repeating: "x", count: 600))"}}},{"id":"b-N","allocation":50,"modifications":{"type":"FLAG","value":{"flag-N":"y"}}}]}]}"#
        let campaigns = (0..<5_500).map { one.replacingOccurrences(of: "N", with: "\($0)") }
        let text = #"{"campaigns":[\#(campaigns.joined(separator: ","))]}"#
        #expect(text.utf8.count > 5_000_000)
        let file = try CampaignsDocument(try JSON.parse(text))
        let ruleset = BucketingRuleset(file, rules: .ios, automatic: [:])
        #expect(ruleset.count == 5_500)
        let user = User(id: "ada", attributes: ["city": "town-4711"])
        #expect(ruleset.decisions(for: EvaluationContext(user: user, date: .distantPast)).keys == ["flag-4711"])
    }

    @Test(
        "unusual visitor ids are decided, by the vendor and here",
        arguments: [
            "a/b", "a\nb", "👩‍👩‍👧", String(repeating: "x", count: 4_096), "../../activate", "\"}", "%2e%2e", " ",
        ]
    )
    func oddIDs(id: String) async throws {
        let bench = try await Bench()
        for mode in FlagshipConfiguration.Mode.allCases {
            let client = try await bench.client(mode)
            let session = client.session(for: User(id: id, consent: .granted))
            try await session.refresh()
            #expect(session.string("cta", default: "none") == "new")
            try await client.flush()
        }
        #expect(bench.transport.exchanges("campaigns").first?.json["visitor_id"] == .string(id))
        #expect(await bench.mock.receivedActivations.allSatisfy { $0.visitor == id })
    }
}
