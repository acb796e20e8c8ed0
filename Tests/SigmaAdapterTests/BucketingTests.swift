import Experimentation
import Foundation
import Testing

@testable import SigmaAdapter

@Suite("Users are split by one replaceable formula")
struct BucketingTests {
    @Test(
        "S67 the inferred formula yields the published vectors",
        arguments: [
            ("user-1", SigmaBucketing.Draw.layer, "layer-main", 56.006_435_767_5),
            ("user-2", .layer, "layer-main", 87.093_914_583_0),
            ("user-1", .traffic, "s-checkout", 13.429_932_886_3),
            ("user-1", .group, "s-checkout", 96.129_151_751_4),
            ("user-2", .traffic, "s-checkout", 42.906_560_580_2),
            ("user-2", .group, "s-checkout", 8.266_087_204_9),
            ("user-3", .group, "s-checkout", 44.373_683_925_7),
            ("пользователь", .group, "s-checkout", 68.543_490_034_6),
        ]
    )
    func vectors(id: String, draw: SigmaBucketing.Draw, salt: String, expected: Double) throws {
        let position = SigmaBucketing.inferred.position(in: draw, splitID: id, salt: salt)
        #expect(abs(position - expected) < 1e-9)
        // Decisions use the same numbers: a bound just above lets the user in, one just below doesn't.
        #expect(try Self.isInside(id, draw, salt, upTo: expected + 1e-9))
        #expect(try !Self.isInside(id, draw, salt, upTo: expected - 1e-9))
    }

    /// Whether a user is in an experiment decided by one draw, with everything below a bound inside.
    private static func isInside(
        _ id: String,
        _ draw: SigmaBucketing.Draw,
        _ salt: String,
        upTo bound: Double
    ) throws -> Bool {
        let members =
            switch draw {
            case .layer:
                """
                "salt":"other","allocation":100,"groups":[{"name":"A","weight":100}],
                "layer_id":"\(salt)","layer_bounds":[{"lower_bound":0,"upper_bound":\(bound)}]
                """
            case .traffic: #""salt":"\#(salt)","allocation":\#(bound),"groups":[{"name":"A","weight":100}]"#
            case .group:
                """
                "salt":"\(salt)","allocation":100,
                "groups":[{"name":"A","weight":\(bound)},{"name":"B","weight":\(100 - bound)}]
                """
            }
        let ruleset = try Reference.ruleset(of: Array(#"{"experiments":[{"name":"e",\#(members)}]}"#.utf8))
        return ruleset.decisions(for: Reference.context(id)).assignments.first?.variation.id == "A"
    }

    @Test("S68 two experiments in one layer share its users between them")
    func layer() throws {
        let ruleset = try Reference.ruleset(
            of: Array(
                """
                {"experiments":[
                  {"name":"low","salt":"s-low","allocation":100,"layer_id":"layer-main",
                   "layer_bounds":[{"lower_bound":0,"upper_bound":50}],"groups":[{"name":"A","weight":100}]},
                  {"name":"high","salt":"s-high","allocation":100,"layer_id":"layer-main",
                   "layer_bounds":[{"lower_bound":"50","upper_bound":"100"}],"groups":[{"name":"A","weight":100}]}]}
                """.utf8
            )
        )
        var counts: [String: Int] = [:]
        for number in 0..<10_000 {
            let places = ruleset.decisions(for: Reference.context("user-\(number)")).assignments.map(\.experiment.id)
            #expect(places.count == 1)
            counts[places.first ?? "none", default: 0] += 1
        }
        #expect(abs((counts["low"] ?? 0) - 5_000) < 300)
    }

    @Test("different layers are independent: two halves of two layers give four quarters")
    func twoLayers() throws {
        func experiment(_ name: String, _ layer: String) -> String {
            """
            {"name":"\(name)","salt":"s-\(name)","allocation":100,"layer_id":"\(layer)",
             "layer_bounds":[{"lower_bound":0,"upper_bound":50}],"groups":[{"name":"A","weight":100}]}
            """
        }
        let ruleset = try Reference.ruleset(
            of: Array("{\"experiments\":[\(experiment("one", "l1")),\(experiment("two", "l2"))]}".utf8)
        )
        var both = 0
        for number in 0..<4_000 {
            both += ruleset.decisions(for: Reference.context("user-\(number)")).assignments.count == 2 ? 1 : 0
        }
        #expect(abs(both - 1_000) < 120)
    }

    @Test("weights and allocation are shares of the users, and beyond the weights there is no group")
    func shares() throws {
        let ruleset = try Reference.ruleset(
            of: Array(
                """
                {"experiments":[{"name":"e","salt":"s","allocation":"50",
                  "groups":[{"name":"A","weight":20},{"name":"B","weight":"40"}]}]}
                """.utf8
            )
        )
        var counts: [String: Int] = [:]
        for number in 0..<10_000 {
            let place = ruleset.decisions(for: Reference.context("user-\(number)")).assignments.first
            counts[place?.variation.id ?? "none", default: 0] += 1
        }
        #expect(abs((counts["A"] ?? 0) - 1_000) < 150)
        #expect(abs((counts["B"] ?? 0) - 2_000) < 200)
    }

    @Test("another formula replaces the inferred one everywhere")
    func replaced() throws {
        let bytes = Array(
            """
            {"experiments":[{"name":"e","salt":"s","allocation":50,"layer_id":"l",
              "layer_bounds":[{"lower_bound":10,"upper_bound":20}],
              "groups":[{"name":"A","weight":50},{"name":"B","weight":50}]}]}
            """.utf8
        )
        func place(_ formula: @escaping @Sendable (SigmaBucketing.Draw, String, String) -> Double) throws -> String? {
            try Reference.ruleset(of: bytes, bucketing: SigmaBucketing(formula))
                .decisions(for: Reference.context("u")).assignments.first?.variation.id
        }
        #expect(try place { draw, _, _ in draw == .layer ? 15 : draw == .traffic ? 49.9 : 50 } == "B")
        #expect(try place { draw, _, _ in draw == .layer ? 10 : 0 } == "A")
        #expect(try place { draw, _, _ in draw == .layer ? 20 : 0 } == nil)
        #expect(try place { draw, _, _ in draw == .layer ? 15 : 50 } == nil)
        #expect(try place { _, id, salt in id == "u" && ["s", "l"].contains(salt) ? 12 : 99 } == "A")
    }

    @Test("a switch makes the allocation within a layer unnecessary")
    func allocationInLayer() throws {
        var assumptions = SigmaAssumptions()
        assumptions.allocationAppliesInLayers = false
        let bytes = Array(
            """
            {"experiments":[{"name":"e","salt":"s","allocation":0,"layer_id":"l",
              "layer_bounds":[{"lower_bound":0,"upper_bound":100}],"groups":[{"name":"A","weight":100}]}]}
            """.utf8
        )
        let context = Reference.context()
        #expect(try Reference.ruleset(of: bytes).decisions(for: context).assignments.isEmpty)
        #expect(try Reference.ruleset(of: bytes, assuming: assumptions).decisions(for: context).assignments.count == 1)
    }
}
