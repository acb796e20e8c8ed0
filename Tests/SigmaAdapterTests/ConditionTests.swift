import Experimentation
import Foundation
import Testing

@testable import SigmaAdapter

@Suite("Conditions test one property as the vendor defines")
struct ConditionTests {
    struct Row: CustomTestStringConvertible {
        var property = "custom.p"
        var sign: SigmaWire.Sign
        var operands: [String]
        var text: String?
        var holds: Bool

        init(
            _ sign: SigmaWire.Sign,
            _ operands: [String],
            _ text: String?,
            _ holds: Bool,
            of property: String = "custom.p"
        ) {
            self.property = property
            self.sign = sign
            self.operands = operands
            self.text = text
            self.holds = holds
        }

        var testDescription: String { "\(property) = \(text ?? "nothing"): \(sign.rawValue) \(operands)" }
    }

    static let table: [Row] = [
        .init(.equal, ["a", "b"], "a", true), .init(.equal, ["a", "b"], "b", false), .init(.equal, ["a"], "A", false),
        .init(.notEqual, ["a"], "b", true), .init(.notEqual, ["a"], "a", false),
        .init(.anyOf, ["a", "b"], "b", true), .init(.anyOf, ["a", "b"], "c", false),
        .init(.noneOf, ["a", "b"], "c", true), .init(.noneOf, ["a", "b"], "a", false),
        .init(.contains, ["ell"], "hello", true), .init(.contains, ["ell"], "help", false),
        .init(.notContains, ["ell"], "help", true), .init(.notContains, ["ell"], "hello", false),
        .init(.containsAnyOf, ["x", "lo"], "hello", true), .init(.containsAnyOf, ["x", "y"], "hello", false),
        .init(.containsNoneOf, ["x", "y"], "hello", true), .init(.containsNoneOf, ["x", "lo"], "hello", false),
        .init(.startsWith, ["he"], "hello", true), .init(.startsWith, ["lo"], "hello", false),
        .init(.notStartsWith, ["lo"], "hello", true), .init(.notStartsWith, ["he"], "hello", false),
        .init(.endsWith, ["lo"], "hello", true), .init(.endsWith, ["he"], "hello", false),
        .init(.notEndsWith, ["he"], "hello", true), .init(.notEndsWith, ["lo"], "hello", false),
        .init(.greater, ["2"], "10", true), .init(.greater, ["10"], "10", false),
        .init(.greater, ["-1.5"], "-1.4", true),
        .init(.less, ["10"], "2", true), .init(.less, ["2"], "2.0", false),
        .init(.greaterEqual, ["2"], "2.0", true), .init(.greaterEqual, ["2"], "1.9", false),
        .init(.lessEqual, ["2"], "2", true), .init(.lessEqual, ["2"], "2.1", false),
        // As Swift writes numbers that are small or large.
        .init(.less, ["1"], "1e-05", true), .init(.greater, ["1"], "1e+16", true),
        .init(.greater, ["-1"], "-2.5e-07", true), .init(.less, ["1e-05"], "0", false),
        .init(.greater, ["1"], "1e+", false), .init(.greater, ["1"], "e+16", false),
        .init(.greater, ["1"], "1e+16e+16", false), .init(.greater, ["1"], "1e+9", false),
        .init(.greater, ["1"], "1e+999", false),
        .init(.greater, ["ten"], "11", false), .init(.greater, ["1"], "1e9", false),
        .init(.greater, ["1"], "0x10", false),
        .init(.less, ["1"], "-inf", false), .init(.greater, ["1"], "nan", false), .init(.greater, ["1"], "2.", false),
        // Versions.
        .init(.greater, ["1.9"], "1.10", true, of: "appVersion"),
        .init(.equal, ["1.0"], "1.0.0", true, of: "os.version"),
        .init(.notEqual, ["1.0"], "1.0.0", false, of: "os.version"),
        .init(.notEqual, ["1.0"], "1.0.1", true, of: "appVersion"),
        .init(.greaterEqual, ["2.10"], "2.10.0", true, of: "appVersion"),
        .init(.less, ["2.10"], "2.9", true, of: "appVersion"),
        .init(.lessEqual, ["2.10"], "2.11", false, of: "appVersion"),
        .init(.greater, ["1.0"], "2.0-beta", false, of: "appVersion"),
        .init(.notEqual, ["1.0"], "beta", false, of: "appVersion"),
        .init(.greater, ["1"], "99999999999999999999.1", false, of: "appVersion"),
        .init(.anyOf, ["1.0"], "1.0.0", false, of: "appVersion"),
        // Dates.
        .init(.onDate, ["2026-11-21"], "2026-11-21 23:59:59", true),
        .init(.onDate, ["2026-11-21 08:00"], "2026-11-21", true),
        .init(.onDate, ["2026-11-21"], "2026-11-22 00:00", false),
        .init(.afterTime, ["2026-11-21 12:00"], "2026-11-21 12:00:01", true),
        .init(.afterTime, ["2026-11-21 12:00"], "2026-11-21 12:00", false),
        .init(.beforeTime, ["2026-11-21"], "2026-11-20 23:59", true),
        .init(.beforeTime, ["2026-11-21"], "2026-11-21", false),
        .init(.onDate, ["2026-02-30"], "2026-02-30", false), .init(.onDate, ["21.11.2026"], "21.11.2026", false),
        .init(.onDate, ["2028-02-29"], "2028-02-29", true),
        .init(.afterTime, ["2026-11-21 24:00"], "2026-11-22", false),
        .init(.afterTime, ["2026-11-21"], "2026-11-21T12:00", false),
    ]

    @Test("every operator matches as in the vendor's table", arguments: table)
    func everyOperator(row: Row) throws {
        let condition = try Self.condition(row.property, row.sign.rawValue, row.operands)
        #expect(condition.holds(for: row.text) == row.holds)
    }

    @Test("an absent property and an empty list match nothing, not even negations", arguments: SigmaWire.Sign.allCases)
    func nothing(sign: SigmaWire.Sign) throws {
        #expect(try !Self.condition("custom.p", sign.rawValue, ["2026-01-01"]).holds(for: nil))
        #expect(try !Self.condition("custom.p", sign.rawValue, []).holds(for: "2026-01-01"))
    }

    @Test("an absent property matches negations if so configured")
    func assumedNegation() throws {
        var assumptions = SigmaAssumptions()
        assumptions.missingPropertyPassesNegations = true
        #expect(try Self.condition("custom.p", "none of", ["a"], assuming: assumptions).holds(for: nil))
        #expect(try !Self.condition("custom.p", "any of", ["a"], assuming: assumptions).holds(for: nil))
    }

    @Test("case matters unless configured otherwise")
    func capitals() throws {
        var assumptions = SigmaAssumptions()
        assumptions.textIgnoresCase = true
        #expect(try Self.condition("custom.p", "starts with", ["HE"], assuming: assumptions).holds(for: "Hello"))
        #expect(try !Self.condition("custom.p", "starts with", ["HE"]).holds(for: "Hello"))
    }

    @Test("a plain string counts as a list of one")
    func bareText() throws {
        let json = #"{"name":"custom.p","condition_sign":"equal","value":"a"}"#
        let wire = try JSONDecoder().decode(SigmaWire.Condition.self, from: Data(json.utf8))
        #expect(SigmaCondition(wire, assuming: SigmaAssumptions()).holds(for: "a"))
    }

    @Test(
        "conditions are joined by AND, OR and -",
        arguments: [
            ("AND", ["1", "2"], false), ("AND", ["1", "1"], true), ("AND", [], true), ("OR", ["2", "1"], true),
            ("OR", ["2", "2"], false), ("OR", [], false), ("-", ["2"], true), ("-", [], true),
        ]
    )
    func joining(statement: String, operands: [String], holds: Bool) throws {
        let conditions = operands.map { #"{"name":"custom.p","condition_sign":"equal","value":["\#($0)"]}"# }
        let json = #"{"conditional_statement":"\#(statement)","conditions":[\#(conditions.joined(separator: ","))]}"#
        let wire = try JSONDecoder().decode(SigmaWire.Audience.self, from: Data(json.utf8))
        let audience = Audience(wire, assuming: SigmaAssumptions())
        let context = Reference.context("u", ["p": "1"])
        let reading = PropertyReading(context: context, surroundings: try Reference.ruleset().surroundings)
        #expect(audience.includes(reading) == holds)
    }

    private static func condition(
        _ name: String,
        _ sign: String,
        _ operands: [String],
        assuming assumptions: SigmaAssumptions = SigmaAssumptions()
    ) throws -> SigmaCondition {
        let object: FlagValue = [
            "name": .string(name), "condition_sign": .string(sign), "value": .array(operands.map { .string($0) }),
        ]
        let wire = try JSONDecoder().decode(SigmaWire.Condition.self, from: JSONEncoder().encode(object))
        return SigmaCondition(wire, assuming: assumptions)
    }
}
