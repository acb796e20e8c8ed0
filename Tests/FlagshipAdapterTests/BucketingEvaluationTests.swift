import AdapterKit
import Experimentation
import Foundation
import Testing

@testable import FlagshipAdapter

/// A file with one campaign, made for one case.
struct BucketingSample {
    var rules: FlagshipRules = .ios
    /// Each group with its targeting as JSON.
    var groups: [(id: String, targeting: String, variations: [(id: String, allocation: String)])]

    static let everybody =
        #"{"targetingGroups":[{"targetings":[{"operator":"EQUALS","key":"fs_all_users","value":""}]}]}"#

    static func rule(_ comparison: String, _ key: String, _ value: String) -> String {
        #"{"operator":"\#(comparison)","key":"\#(key)","value":\#(value)}"#
    }

    static func targeting(_ lists: [[String]]) -> String {
        let lists = lists.map { #"{"targetings":[\#($0.joined(separator: ","))]}"# }
        return #"{"targetingGroups":[\#(lists.joined(separator: ","))]}"#
    }

    var json: String {
        let groups = groups.map { group in
            let variations = group.variations.map {
                #"{"id":"\#($0.id)","allocation":\#($0.allocation),"modifications":{"type":"FLAG","value":{"flag":"\#($0.id)"}}}"#
            }
            return
                #"{"id":"\#(group.id)","targeting":\#(group.targeting),"variations":[\#(variations.joined(separator: ","))]}"#
        }
        return
            #"{"campaigns":[{"id":"c","type":"ab","bucketRanges":[{"r":[0,100]}],"variationGroups":[\#(groups.joined(separator: ","))]}]}"#
    }

    func ruleset() throws -> BucketingRuleset {
        BucketingRuleset(try CampaignsDocument(try JSON.parse(json)), rules: rules, automatic: [:])
    }

    /// The visitor's variation, decided as a whole and flag by flag, with a check that both agree.
    func variation(
        _ id: String,
        _ attributes: Attributes = [:],
        earlier: [String: String] = [:]
    ) throws -> String? {
        let ruleset = try ruleset()
        let context = EvaluationContext(
            user: User(id: id, attributes: attributes),
            earlierAssignments: earlier,
            date: Date(timeIntervalSince1970: 0)
        )
        let whole = ruleset.decisions(for: context)["flag"]?.value.stringValue
        let flag = try #require(ruleset.catalogue.index(of: "flag"))
        let single = ruleset.outcome(ofFlag: flag, for: context)
            .flatMap { ruleset.catalogue.resolution(ofFlag: flag, outcome: $0)?.value.stringValue }
        #expect(whole == single)
        return whole
    }

    static func matches(
        _ targeting: String,
        _ attributes: Attributes = [:],
        rules: FlagshipRules = .ios,
        id: String = "visitor"
    ) throws -> Bool {
        try BucketingSample(rules: rules, groups: [("g", targeting, [("v", "100")])]).variation(id, attributes) == "v"
    }
}

@Suite("Bucketing: allocation")
struct BucketingAllocationTests {
    struct Places: Decodable {
        let group: String
        let visitors: [String]
        let places: [Int]

        static func read() throws -> Places {
            let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent()
            let file = root.appending(path: "Conformance/Fixtures/Flagship/allocation-places.json")
            return try JSONDecoder().decode(Places.self, from: Data(contentsOf: file))
        }
    }

    @Test(
        "the hash agrees with published check values",
        arguments: [
            ("", 0), ("a", 1_009_084_850), ("ab", 2_613_040_991), ("abc", 3_017_643_002), ("abcd", 1_139_631_978),
            ("hello", 613_153_351), ("vg-alphavisitor-001", 2_157_120_681), ("vg-alphavisitor-002", 755_170_171),
            ("cq3k0g9s5d7f1h2j4m60alice", 1_410_686_062), ("cq3k0g9s5d7f1h2j4m60bob", 3_793_288_367),
            ("cq3k0g9s5d7f1h2j4m60élodie", 3_029_524_233), ("cq3k0g9s5d7f1h2j4m60中文", 1_118_766_213),
            ("cq3k0g9s5d7f1h2j4m60😀", 3_218_605_403),
        ] as [(String, UInt32)]
    )
    func hash(text: String, expected: UInt32) {
        #expect(FlagshipMurmur3.hash(text) == expected)
        // Fed in two pieces, cut anywhere, the hash is the same.
        for cut in text.indices {
            var hash = FlagshipMurmur3(of: String(text[..<cut]))
            hash.feed(String(text[cut...]))
            #expect(hash.value == expected)
        }
    }

    @Test("F25 a thousand visitors of a split in halves are assigned as computed by another program")
    func oracle() throws {
        let places = try Places.read()
        #expect(places.visitors.count == 1_000)
        let sample = BucketingSample(
            groups: [(places.group, BucketingSample.everybody, [("a", "50"), ("b", "50")])]
        )
        let ruleset = try sample.ruleset()
        for (visitor, place) in zip(places.visitors, places.places) {
            let context = EvaluationContext(user: User(id: visitor), date: Date(timeIntervalSince1970: 0))
            #expect(ruleset.decisions(for: context)["flag"]?.value == (place < 50 ? "a" : "b"), "\(visitor)")
        }
    }

    @Test(
        "F26 the boundaries of 33/33/34, 0/100 and 100/0 are exclusive of the running sum",
        arguments: [
            (["33", "33", "34"], [32: "a", 33: "b", 65: "b", 66: "c", 99: "c"]),
            (["0", "100"], [0: "b", 99: "b"]), (["100", "0"], [0: "a", 99: "a"]),
        ]
    )
    func boundaries(allocations: [String], expected: [Int: String]) throws {
        let places = try Places.read()
        let ids = ["a", "b", "c"]
        let sample = BucketingSample(
            groups: [(places.group, BucketingSample.everybody, Array(zip(ids, allocations)).map { ($0, $1) })]
        )
        for (place, variation) in expected {
            let index = try #require(places.places.firstIndex(of: place))
            #expect(try sample.variation(places.visitors[index]) == variation)
        }
    }

    @Test("F27 visitors whom a group doesn't assign go to the next group or to none, by the server's rules to none")
    func leftOver() throws {
        let places = try Places.read()
        let inside = places.visitors[try #require(places.places.firstIndex(of: 59))]
        let outside = places.visitors[try #require(places.places.firstIndex(of: 60))]
        var sample = BucketingSample(groups: [(places.group, BucketingSample.everybody, [("a", "60")])])
        #expect(try sample.variation(inside) == "a")
        #expect(try sample.variation(outside) == nil)
        sample.groups.append(("other", BucketingSample.everybody, [("b", "100")]))
        #expect(try sample.variation(outside) == "b")
        sample.rules = .server
        #expect(try sample.variation(outside) == nil)
    }

    @Test(
        "F28 a variation without an allocation is never chosen",
        arguments: ["null", "33.5", #""50""#, "0", "-10", "[]"]
    )
    func withoutAllocation(allocation: String) throws {
        let sample = BucketingSample(
            groups: [("g", BucketingSample.everybody, [("none", allocation), ("rest", "200")])]
        )
        for id in 0..<200 { #expect(try sample.variation("v-\(id)") == "rest") }
    }

    @Test("an allocation of 33.0 equals 33, and an excessive one does no harm")
    func oddAllocations() throws {
        let places = try Places.read()
        let sample = BucketingSample(
            groups: [
                (
                    places.group, BucketingSample.everybody,
                    [("a", "33.0"), ("b", "9223372036854775807"), ("c", "9223372036854775807")]
                )
            ]
        )
        let at32 = places.visitors[try #require(places.places.firstIndex(of: 32))]
        let at33 = places.visitors[try #require(places.places.firstIndex(of: 33))]
        #expect(try sample.variation(at32) == "a")
        #expect(try sample.variation(at33) == "b")
    }

    @Test("F29 an earlier assignment wins over a changed allocation", arguments: FlagshipRules.allCases)
    func sticky(rules: FlagshipRules) throws {
        let sample = BucketingSample(
            rules: rules,
            groups: [("g", BucketingSample.everybody, [("a", "0"), ("b", "100")])]
        )
        #expect(try sample.variation("visitor") == "b")
        #expect(try sample.variation("visitor", earlier: ["g": "a"]) == "a")
        #expect(try sample.variation("visitor", earlier: ["other": "a"]) == "b")
    }

    @Test("an earlier variation that no longer exists removes the campaign, and the visitor isn't listed in it")
    func deletedVariation() throws {
        let sample = BucketingSample(groups: [("g", BucketingSample.everybody, [("b", "100")])])
        #expect(try sample.variation("visitor", earlier: ["g": "gone"]) == nil)
        let context = EvaluationContext(
            user: User(id: "visitor"),
            earlierAssignments: ["g": "gone"],
            date: Date(timeIntervalSince1970: 0)
        )
        #expect(try sample.ruleset().decisions(for: context).assignments == [])
    }

    /// A control that sets no flags, and a variation that does.
    static let control = """
        {"campaigns":[{"id":"c","type":"ab","bucketRanges":[{"r":[0,100]}],"variationGroups":[{"id":"g",
         "targeting":{"targetingGroups":[{"targetings":[{"operator":"EQUALS","key":"fs_all_users","value":""}]}]},
         "variations":[{"id":"control","allocation":50,"reference":true,"modifications":{"type":"FLAG","value":{}}},
                       {"id":"b","allocation":50,"modifications":{"type":"FLAG","value":{"flag":"b"}}}]}]}]}
        """

    @Test("a variation without flags is assigned like any other", arguments: FlagshipRules.allCases)
    func withoutFlags(rules: FlagshipRules) throws {
        let file = try CampaignsDocument(try JSON.parse(Self.control))
        let ruleset = BucketingRuleset(file, rules: rules, automatic: [:])
        var found: Set<[String]> = []
        for number in 0..<200 {
            let context = EvaluationContext(user: User(id: "u-\(number)"), date: Date(timeIntervalSince1970: 0))
            let decisions = ruleset.decisions(for: context)
            found.insert(decisions.assignments.map(\.variation.id) + decisions.keys)
        }
        #expect(found == [["control"], ["b", "flag"]])
        let earlier = EvaluationContext(
            user: User(id: "u-1"),
            earlierAssignments: ["g": "control"],
            date: Date(timeIntervalSince1970: 0)
        )
        let free = EvaluationContext(user: User(id: "u-1"), date: Date(timeIntervalSince1970: 0))
        // The iOS rules remember assignments by their flags, the server's rules all of them.
        let kept = rules == .ios ? ruleset.decisions(for: free).assignments.map(\.variation.id) : ["control"]
        #expect(ruleset.decisions(for: earlier).assignments.map(\.variation.id) == kept)
    }

    @Test("the Decision API's variation without flags is an assignment as well")
    func withoutFlagsAsked() async throws {
        let bench = try await Bench(Self.control)
        let client = try await bench.client()
        let session = client.session(for: User(id: "ada", consent: .granted))
        bench.transport.fail(
            "campaigns",
            .body(
                #"""
                {"campaigns":[{"id":"c","variationGroupId":"g","type":"ab",
                "variation":{"id":"control","reference":true,"modifications":{"type":"FLAG","value":{}}}}]}
                """#
            )
        )
        try await session.refresh()
        #expect(session.assignments.map(\.variation.id) == ["control"])
        try session.expose("c")
        try await client.flush()
        #expect(bench.transport.exchanges("activate").count == 1)
    }

    @Test("F30 an earlier assignment is ignored when the targeting doesn't match")
    func stickyNeedsTargeting() throws {
        let lyon = BucketingSample.targeting([[BucketingSample.rule("EQUALS", "city", #""lyon""#)]])
        let sample = BucketingSample(groups: [("g", lyon, [("a", "0"), ("b", "100")])])
        #expect(try sample.variation("visitor", ["city": "paris"], earlier: ["g": "a"]) == nil)
        #expect(try sample.variation("visitor", ["city": "lyon"], earlier: ["g": "a"]) == "a")
    }

    @Test("F43 visitor ids outside the basic plane are hashed by their UTF-8 bytes")
    func beyondTheBasicPlane() throws {
        let sample = BucketingSample(
            groups: [("cq3k0g9s5d7f1h2j4m60", BucketingSample.everybody, [("a", "3"), ("b", "1"), ("c", "96")])]
        )
        #expect(try sample.variation("😀") == "b")
        #expect(try sample.variation("中文") == "c")
    }

    @Test("bucket ranges apply only under the server's rules")
    func bucketRanges() throws {
        // murmur3("abc") % 100 = 2
        for (ranges, isOpen) in [(#"[{"r":[0,2]}]"#, false), (#"[{"r":[2,3]}]"#, true), ("[]", false), ("null", false)]
        {
            for rules in FlagshipRules.allCases {
                let sample = BucketingSample(groups: [("g", BucketingSample.everybody, [("v", "100")])])
                let text = sample.json.replacing(
                    #""bucketRanges":[{"r":[0,100]}]"#,
                    with: #""bucketRanges":\#(ranges)"#
                )
                let file = try CampaignsDocument(try JSON.parse(text))
                let ruleset = BucketingRuleset(file, rules: rules, automatic: [:])
                let context = EvaluationContext(user: User(id: "abc"), date: Date(timeIntervalSince1970: 0))
                #expect((ruleset.decisions(for: context)["flag"] != nil) == (isOpen || rules == .ios))
            }
        }
    }

    @Test("of two campaigns with the same id the server uses the first, and the SDK the later one's flags")
    func duplicateIDs() throws {
        func campaign(_ value: Int) -> String {
            #"{"id":"c","type":"flag","bucketRanges":[{"r":[0,100]}],"variationGroups":[{"id":"g","targeting":\#(BucketingSample.everybody),"variations":[{"id":"v","allocation":100,"modifications":{"type":"FLAG","value":{"flag":\#(value)}}},{"id":"v","allocation":100,"modifications":{"type":"FLAG","value":{"flag":9}}}]}]}"#
        }
        let file = try CampaignsDocument(try JSON.parse(#"{"campaigns":[\#(campaign(1)),\#(campaign(2))]}"#))
        let context = EvaluationContext(user: User(id: "visitor"), date: Date(timeIntervalSince1970: 0))
        for (rules, value) in [(FlagshipRules.ios, 2), (.server, 1)] {
            let ruleset = BucketingRuleset(file, rules: rules, automatic: [:])
            #expect(ruleset.decisions(for: context)["flag"]?.value == .int(value))
            #expect(ruleset.decisions(for: context).assignments.map(\.group) == ["g"])
        }
    }

    @Test("under the server's rules, one visitor gets one test if the account says so")
    func oneTest() throws {
        func campaign(_ id: String, _ type: String) -> String {
            #"{"id":"\#(id)","type":"\#(type)","bucketRanges":[{"r":[0,100]}],"variationGroups":[{"id":"g-\#(id)","targeting":\#(BucketingSample.everybody),"variations":[{"id":"v-\#(id)","allocation":100,"modifications":{"type":"FLAG","value":{"\#(id)":true}}}]}]}"#
        }
        let campaigns = [campaign("one", "ab"), campaign("two", "ab"), campaign("free", "perso")].joined(separator: ",")
        let text = #"{"accountSettings":{"enabled1V1T":true},"campaigns":[\#(campaigns)]}"#
        let file = try CampaignsDocument(try JSON.parse(text))
        let context = EvaluationContext(user: User(id: "visitor"), date: Date(timeIntervalSince1970: 0))
        for (rules, keys) in [(FlagshipRules.ios, ["one", "two", "free"]), (.server, ["one", "free"])] {
            let ruleset = BucketingRuleset(file, rules: rules, automatic: [:])
            #expect(ruleset.decisions(for: context).keys == keys)
            for key in ["one", "two", "free"] {
                let flag = try #require(ruleset.catalogue.index(of: key))
                #expect((ruleset.outcome(ofFlag: flag, for: context) != nil) == keys.contains(key))
            }
        }
    }

    @Test("a campaign of 16,000 variations with flags of their own is read and decided")
    func manyVariations() throws {
        let variations = (0..<16_000).map { index in
            // All visitors get the hundredth; their flags come before and after others of the same variation.
            #"{"id":"v-\#(index)","allocation":\#(index == 100 ? 100 : 0),"modifications":{"type":"FLAG","value":"#
                + #"{"flag-\#(index)":\#(index),"all":\#(index),"flag-\#(index / 2)-half":\#(index)}}}"#
        }
        let json = """
            {"campaigns":[{"id":"c","type":"ab","variationGroups":[{"id":"g","targeting":\(BucketingSample.everybody),
            "variations":[\(variations.joined(separator: ","))]}]}]}
            """
        let ruleset = BucketingRuleset(try CampaignsDocument(try JSON.parse(json)), rules: .ios, automatic: [:])
        let context = EvaluationContext(user: User(id: "ada"), date: Date(timeIntervalSince1970: 0))
        let flags = ["all", "flag-50-half", "flag-99", "flag-100", "flag-15999"]
        let values = try flags.map { key in
            let flag = try #require(ruleset.catalogue.index(of: key))
            return ruleset.outcome(ofFlag: flag, for: context)
                .flatMap { ruleset.catalogue.resolution(ofFlag: flag, outcome: $0)?.value }
        }
        #expect(values == [100, 100, nil, 100, nil])
        #expect(ruleset.decisions(for: context).keys.sorted() == ["all", "flag-100", "flag-50-half"])
    }
}
