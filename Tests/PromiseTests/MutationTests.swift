import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import Testing
import Waiting

@Suite("One bad flag doesn't hide others", .timeLimit(.minutes(10)))
struct MutationTests {
    private static let odd: [FlagValue] = [
        .null, true, 0, -1, .int(.max), .int(.min), 1e308, -0.0, "", "x", "fs_all_users", "\u{0}", [], [:], [[]],
        ["": .null], ["type": "x"], .string(String(repeating: "a", count: 5_000)), [1, "a", .null, true],
    ]

    /// Changes one random place in a value.
    private static func mutated(_ value: FlagValue, _ dice: inout Dice, level: Int = 0) -> FlagValue {
        let isHere = level > 0 && dice.below(4) == 0
        switch value {
        case .object(var fields) where !isHere && !fields.isEmpty:
            let key = dice.pick(fields.keys.sorted())
            switch dice.below(8) {
            case 0: fields[key] = nil
            case 1: fields[dice.pick(["", "x", key + "_", key.uppercased()])] = fields.removeValue(forKey: key)
            default: fields[key] = fields[key].map { mutated($0, &dice, level: level + 1) }
            }
            return .object(fields)
        case .array(var values) where !isHere && !values.isEmpty:
            let index = dice.below(values.count)
            switch dice.below(8) {
            case 0: values.remove(at: index)
            case 1: values.insert(dice.pick(odd), at: index)
            case 2: values.append(values[index])
            default: values[index] = mutated(values[index], &dice, level: level + 1)
            }
            return .array(values)
        default: return dice.pick(odd)
        }
    }

    @Test(
        "P37 whatever is wrong with one flag, the others are unchanged and nothing traps",
        arguments: Vendor.deciding
    )
    func neighbours(_ vendor: Vendor) async throws {
        let whole = try JSON.parse(vendor.answer(flags: 6))
        let list = [.sigma: "feature_flags", .ofrep: "flags"][vendor] ?? "campaigns"
        let flags = try #require(whole.objectValue?[list]?.arrayValue)
        let transport = SwitchedTransport { _ in .status(500) }
        let roles = try await vendor.provider(transport).start(in: ProviderContext(environment: .still()))
        let user = User(id: "ada", consent: .granted)
        func decisions() async throws -> Decisions {
            let context = EvaluationContext(user: user, date: Date(timeIntervalSince1970: 1_795_255_200))
            switch roles.decisions {
            case .asked(let source):
                guard case .decided(let decisions) = try await source.decisions(for: context) else { return .none }
                return decisions
            case .computed(let source):
                guard case .replaced(let ruleset, _, _) = try await source.ruleset(ifNot: nil) else { return .none }
                return ruleset.decisions(for: context)
            default: return .none
            }
        }
        transport.answer(.json(vendor.answer(flags: 6)))
        let baseline = try await decisions()
        #expect((0..<6).allSatisfy { baseline["f\($0)"]?.value == "v1" })
        var kept = 0
        var refused = 0
        let count = (isSoak ? 10_000 : 1_200) / Vendor.deciding.count + 1
        for seed in 0..<count {
            var dice = Dice(seed)
            let victim = dice.below(6)
            var changed = flags
            changed[victim] = Self.mutated(changed[victim], &dice)
            var document = whole.objectValue ?? [:]
            document[list] = .array(changed)
            let bytes = try JSON.encode(.object(document))
            transport.answer(.json(String(decoding: bytes, as: UTF8.self)))
            do {
                let found = try await decisions()
                kept += 1
                for number in 0..<6 where number != victim {
                    #expect(found["f\(number)"]?.value == "v1", "seed \(seed)")
                }
            } catch {
                refused += 1
            }
        }
        print("P37 \(vendor.rawValue): \(count) changed answers, \(refused) refused as a whole")
        #expect(kept + refused == count && kept > count * 9 / 10)
    }

    @Test("P37 an unreadable flag isn't a missing flag")
    func errorCodes() async throws {
        let provider = InMemoryProvider(flags: [InMemoryFlag("there", true)])
        let client = try await ExperimentationClient(provider: provider)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        #expect(session.details("missing", default: true).errorCode == .flagNotFound)
        let transport = SwitchedTransport { _ in
            .json(
                #"{"feature_flags":[{"name":"broken","type":"number","rules":[{"is_default":true,"value":"x","conditional_statement":"-","conditions":[]}]}],"experiments":[]}"#
            )
        }
        let sigma = try await ExperimentationClient(
            provider: Vendor.sigma.provider(transport),
            environment: .still()
        )
        let other = sigma.session(for: User(id: "ada"))
        try await other.refresh()
        #expect(other.details("broken", default: 1).errorCode == .parseError)
        #expect(other.details("absent", default: 1).errorCode == .flagNotFound)
    }

    @Test("P38 an unknown operator never matches, and hides nothing else")
    func unknownOperators() async throws {
        var dice = Dice(38)
        let words = [
            "REGEX", "MATCHES", "SEMVER_GT", "BETWEEN", "EXISTS", "ALWAYS", "TRUE", "ANY", "IN", "LIKE", "=~", "==",
            "!",
            "*", "equal?", "NOT", "not", "EQUALS2", "EQUAL S", " EQUALS ", "is", "matches regex", "within",
            "\u{0}EQUALS", "ÉQUALS",
        ]
        for round in 0..<100 {
            let name = dice.pick(words) + (round % 2 == 0 ? "" : "_\(dice.below(1_000))")
            let quoted = String(decoding: try JSON.encode(.string(name)), as: UTF8.self)
            let flagship = #"""
                {"panic":false,"campaigns":[
                 {"id":"a","type":"ab","variationGroups":[{"id":"g","targeting":{"targetingGroups":[{"targetings":[
                  {"operator":\#(quoted),"key":"city","value":"lyon"}]}]},"variations":[{"id":"v","allocation":100,
                  "modifications":{"type":"FLAG","value":{"targeted":"yes"}}}]}]},
                 {"id":"b","type":"ab","variationGroups":[{"id":"h","targeting":{"targetingGroups":[{"targetings":[
                  {"operator":"EQUALS","key":"city","value":"lyon"}]}]},"variations":[{"id":"w","allocation":100,
                  "modifications":{"type":"FLAG","value":{"plain":"yes"}}}]}]}]}
                """#
            let sigma = #"""
                {"feature_flags":[{"name":"targeted","type":"string","rules":[
                  {"is_default":false,"value":"yes","conditional_statement":"AND","conditions":[
                   {"name":"custom.city","condition_sign":\#(quoted),"value":["lyon"]}]},
                  {"is_default":true,"value":"no","conditional_statement":"-","conditions":[]}]},
                 {"name":"plain","type":"string","rules":[
                  {"is_default":false,"value":"yes","conditional_statement":"AND","conditions":[
                   {"name":"custom.city","condition_sign":"equal","value":["lyon"]}]},
                  {"is_default":true,"value":"no","conditional_statement":"-","conditions":[]}]}],"experiments":[]}
                """#
            for (vendor, answer) in [(Vendor.flagshipComputed, flagship), (.sigma, sigma)] {
                let transport = SwitchedTransport { _ in .json(answer) }
                let provider = vendor.provider(transport)
                let client = try await ExperimentationClient(provider: provider, environment: .still())
                let session = client.session(
                    for: User(id: "ada", attributes: ["city": "lyon"], consent: .granted)
                )
                try await session.refresh(force: true)
                #expect(session.string("targeted", default: "no") == "no", "\(vendor): \(quoted)")
                #expect(session.string("plain", default: "no") == "yes", "\(vendor): \(quoted)")
            }
        }
    }
}
