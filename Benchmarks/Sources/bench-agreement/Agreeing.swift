import AdapterKit
import BenchmarkHarness
import ComparisonKit
import Experimentation
import FlagshipAdapter
import Foundation
import HTTPTypes
import SigmaAdapter

/// Measures for how many users per second, on one core, two vendors that compute decisions can be compared.
@main
enum Agreeing {
    static let experiments = 5
    static let flags = 20
    static let users = 200_000

    static func main() async throws {
        let tested = (0..<experiments).map { number in
            TestedExperiment(
                id: "test-\(number)",
                variations: ["control", "other"].map { TestedExperiment.Arm(id: "\($0)-\(number)", weight: 50) }
            )
        }
        let sigma = try await Decider(
            name: "sigma",
            provider: SigmaProvider(
                configuration: SigmaConfiguration(projectToken: "token", endpoint: Endpoint(https: "sigma.example")),
                transport: Canned(json: sigmaRules)
            ),
            experiments: tested
        )
        let flagship = try await Decider(
            name: "flagship",
            provider: FlagshipProvider(
                configuration: FlagshipConfiguration(environmentID: "any", apiKey: "any", mode: .bucketing),
                transport: Canned(json: flagshipRules)
            ),
            experiments: tested
        )
        var table = Table("Agreement: \(experiments) experiments and \(flags) flags, half of the users in each")
        for (from, to) in [(sigma, flagship), (flagship, sigma)] {
            let runner = AgreementRunner(from: from, to: to, at: Date(timeIntervalSince1970: 1_795_262_400))
            let population = Population(like: [User(id: "any", attributes: ["plan": "pro"])])
            var rates: [Double] = []
            var bytes = 0
            for _ in 0..<6 {
                let before = liveBytes()
                let start = ownSeconds()
                let count = await runner.count(0..<users, lanes: 1) { .init(population[$0]) }
                rates.append(Double(count.users) / (ownSeconds() - start))
                bytes = max(bytes, liveBytes() - before)
            }
            // The first round is a warm-up.
            let rate = rates.dropFirst().sorted()[2]
            table.add("\(from.name) to \(to.name), on a core", rate, atLeast: 100_000, unit: "users/s")
            table.add("\(from.name) to \(to.name), bytes that stay", Double(bytes), atMost: 1_048_576, unit: "B")
        }
        if table.missedBars > 0 { exit(1) }
    }

    static var sigmaRules: String {
        let rule = #""is_default":true,"conditional_statement":"-","conditions":[]"#
        let plain = (0..<flags).map {
            #"{"name":"flag-\#($0)","type":"string","rules":[{"value":"own",\#(rule)}]}"#
        }
        let tests = (0..<experiments).map { number in
            let groups = ["control", "other"].map { #"{"name":"\#($0)-\#(number)","weight":50}"# }
            let values = ["control", "other"].map {
                #"{"group":"\#($0)-\#(number)","rules":[{"value":"\#($0)",\#(rule)}]}"#
            }
            return """
                {"name":"test-\(number)","type":1,"salt":"salt-\(number)","allocation":100,
                 "groups":[\(groups.joined(separator: ","))],"feature_flags":[
                   {"name":"tested-\(number)","type":"string","groups":[\(values.joined(separator: ","))]}]}
                """
        }
        return """
            {"use_geo":false,"feature_flags":[\(plain.joined(separator: ","))],
             "experiments":[\(tests.joined(separator: ","))]}
            """
    }

    static var flagshipRules: String {
        func campaign(_ id: String, _ flag: String, _ variations: [(id: String, share: Int)]) -> String {
            let list = variations.map {
                #"{"id":"\#($0.id)","allocation":\#($0.share),"modifications":{"type":"FLAG","value":{"\#(flag)":"\#($0.id)"}}}"#
            }
            return """
                {"id":"\(id)","name":"\(id)","type":"ab","bucketRanges":[{"r":[0,100]}],"variationGroups":[
                  {"id":"\(id)","targeting":{"targetingGroups":[{"targetings":[
                     {"operator":"EQUALS","key":"fs_all_users","value":""}]}]},
                   "variations":[\(list.joined(separator: ","))]}]}
                """
        }
        let plain = (0..<flags).map { campaign("own-\($0)", "flag-\($0)", [("value-\($0)", 100)]) }
        let tests = (0..<experiments).map {
            campaign("test-\($0)", "tested-\($0)", [("control-\($0)", 50), ("other-\($0)", 50)])
        }
        return #"{"accountSettings":{"enabled1V1T":false},"campaigns":[\#((plain + tests).joined(separator: ","))]}"#
    }
}

/// Answers every request with the same document.
struct Canned: HTTPTransport {
    let json: String

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        HTTPReply(response: HTTPResponse(status: .ok), body: Array(json.utf8))
    }
}
