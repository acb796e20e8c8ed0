import AdapterKit
import BenchmarkHarness
import Crypto
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import SigmaAdapter
import Synchronization

/// Measures Sigma: deciding 1,000 flags for a new user, compared with the MD5 sums that it takes.
@main
enum Deciding {
    static let flagCount = 1_000

    static func main() async throws {
        let ruleset = try await ruleset(.inferred)
        let users = (0..<200).map { context("user-\($0)") }

        // A formula that only counts, to find out how many draws a user needs.
        let counter = Counter()
        let counted = try await Self.ruleset(
            SigmaBucketing { draw, splitID, salt in
                counter.add()
                return SigmaBucketing.inferred.position(in: draw, splitID: splitID, salt: salt)
            }
        )
        for user in users { _ = counted.decisions(for: user) }
        let sums = Double(counter.count) / Double(users.count)

        var table = Table("Sigma: \(flagCount) flags, each in an experiment of its own, half of the users in each")
        let text = Array("user-100salt-of-experiment-500sad".utf8)
        let sum = Cost.of(100_000) { count in
            for _ in 0..<count {
                var md5 = Insecure.MD5()
                text.withUnsafeBytes { md5.update(bufferPointer: $0) }
                consume(md5.finalize())
            }
        }
        table.add("one MD5 sum", sum.nanoseconds, unit: "ns")
        table.add("sums that a new user needs", sums, unit: "")
        let all = Cost.of(users.count) { count in
            for index in 0..<count { consume(ruleset.decisions(for: users[index])) }
        }
        table.add("all flags for a new user", all.nanoseconds / 1_000, unit: "µs")
        table.add(
            "all flags / the sums that they need",
            all.nanoseconds / (sum.nanoseconds * sums),
            atMost: 4,
            unit: "×"
        )
        let one = Cost.of(100_000) { count in
            for index in 0..<count {
                consume(ruleset.outcome(ofFlag: index % flagCount, for: users[index % users.count]))
            }
        }
        table.add("one flag, in an experiment", one.nanoseconds, unit: "ns")

        let plain = try await Self.ruleset(.inferred, experiments: false)
        let withRules = Cost.of(200_000) { count in
            for index in 0..<count {
                consume(plain.outcome(ofFlag: index % flagCount, for: users[index % users.count]))
            }
        }
        table.add("one flag, rules only", withRules.nanoseconds, unit: "ns")
        try await reading(&table)
        if table.missedBars > 0 { exit(1) }
    }

    /// A warm read, compared with the same read from another provider's snapshot.
    static func reading(_ table: inout Table) async throws {
        let configuration = SigmaConfiguration(projectToken: "token", endpoint: Endpoint(https: "sigma.example"))
        let sigma = try await ExperimentationClient(
            provider: SigmaProvider(configuration: configuration, transport: Canned(experiments: false))
        )
        let other = try await ExperimentationClient(
            provider: InMemoryProvider(
                flags: (0..<flagCount).map {
                    InMemoryFlag("flag-\($0)", variants: ["own": "own"], defaultVariant: "own")
                },
                needsConsent: false
            )
        )
        let keys = (0..<flagCount).map { "flag-\($0)" }
        func cost(_ client: ExperimentationClient) async throws -> Double {
            let session = client.session(for: User(id: "user-1", consent: .granted))
            try await session.refresh()
            return Cost.of(200_000) { count in
                for index in 0..<count { consume(session.string(keys[index % flagCount], default: "")) }
            }.nanoseconds
        }
        let theirs = try await cost(other)
        let ours = try await cost(sigma)
        table.add("session.string, Sigma's snapshot", ours, unit: "ns")
        table.add("session.string, the in-memory provider's", theirs, unit: "ns")
        table.add("Sigma's / the in-memory provider's", ours / theirs, atMost: 1.5, unit: "×")
        await sigma.shutdown()
        await other.shutdown()
    }

    static func context(_ id: String) -> EvaluationContext {
        EvaluationContext(
            user: User(id: id, attributes: ["plan": "pro"]),
            date: Date(timeIntervalSince1970: 1_795_262_400)
        )
    }

    static func ruleset(_ bucketing: SigmaBucketing, experiments: Bool = true) async throws -> any Ruleset {
        var configuration = SigmaConfiguration(projectToken: "token", endpoint: Endpoint(https: "sigma.example"))
        configuration.bucketing = bucketing
        let provider = SigmaProvider(configuration: configuration, transport: Canned(experiments: experiments))
        guard case .computed(let source) = try await provider.start(in: ProviderContext()).decisions,
            case .replaced(let ruleset, _, _) = try await source.ruleset(ifNot: nil)
        else { throw ExperimentationError(.general, "no rules") }
        return ruleset
    }
}

/// Answers with a configuration of the measured size.
struct Canned: HTTPTransport {
    let experiments: Bool

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        let rule = #""is_default":true,"conditional_statement":"-","conditions":[]"#
        let targeted = """
            {"is_default":false,"value":"pro","conditional_statement":"AND","conditions":[
              {"name":"custom.plan","condition_sign":"equal","value":["basic"]}]}
            """
        let flags = (0..<Deciding.flagCount).map { number in
            #"{"name":"flag-\#(number)","type":"string","rules":[\#(targeted),{"value":"own",\#(rule)}]}"#
        }
        let tests = (0..<Deciding.flagCount).map { number in
            """
            {"name":"experiment-\(number)","type":1,"salt":"salt-of-experiment-\(number)","allocation":50,
             "groups":[{"name":"A","weight":50},{"name":"B","weight":50}],
             "feature_flags":[{"name":"flag-\(number)","type":"string","groups":[
               {"group":"A","rules":[{"value":"a",\(rule)}]},{"group":"B","rules":[{"value":"b",\(rule)}]}]}]}
            """
        }
        let json = """
            {"use_geo":false,"feature_flags":[\(flags.joined(separator: ","))],
             "experiments":[\(experiments ? tests.joined(separator: ",") : "")]}
            """
        return HTTPReply(response: HTTPResponse(status: .ok), body: Array(json.utf8))
    }
}

/// A counter.
final class Counter: Sendable {
    private let value = Mutex(0)
    var count: Int { value.withLock { $0 } }
    func add() { value.withLock { $0 += 1 } }
}
