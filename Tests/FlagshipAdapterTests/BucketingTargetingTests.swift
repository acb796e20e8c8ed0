import AdapterKit
import Experimentation
import Foundation
import Testing

@testable import FlagshipAdapter

@Suite("Bucketing: targeting")
struct BucketingTargetingTests {
    typealias Sample = BucketingSample

    @Test(
        "F31 groups of rules are alternatives, and all rules of a group must hold",
        arguments: [
            ([["a"], ["b"]], ["a"], true), ([["a"], ["b"]], ["b"], true), ([["a"], ["b"]], ["c"], false),
            ([["a", "b"]], ["a"], false), ([["a", "b"]], ["a", "b"], true),
            ([["a", "b"], ["c"]], ["c"], true), ([["a", "b"], ["c"]], ["b"], false), ([], ["a"], false),
        ]
    )
    func combinations(lists: [[String]], present: [String], isMatch: Bool) throws {
        let targeting = Sample.targeting(lists.map { $0.map { Sample.rule("EQUALS", $0, "true") } })
        let attributes = Attributes(Dictionary(uniqueKeysWithValues: present.map { ($0, FlagValue.bool(true)) }))
        for rules in FlagshipRules.allCases {
            #expect(try Sample.matches(targeting, attributes, rules: rules) == isMatch)
        }
    }

    static let table: [(rule: (String, String), value: FlagValue?, ios: Bool, server: Bool)] = [
        (("EQUALS", #""Lyon""#), "Lyon", true, true),
        (("EQUALS", #""Lyon""#), "lyon", false, true),
        (("EQUALS", #""é""#), "e\u{301}", true, true),
        (("EQUALS", "5"), 5, true, true),
        (("EQUALS", "5.0"), 5, true, true),
        (("EQUALS", "5"), 5.0, false, true),
        (("EQUALS", "5.5"), 5.5, true, true),
        (("EQUALS", "true"), true, true, true),
        (("EQUALS", "1"), true, false, false),
        (("EQUALS", "true"), 1, false, false),
        (("EQUALS", #""69001""#), "69001", true, true),
        (("EQUALS", "null"), "x", false, false),
        (("EQUALS", #"{"a":1}"#), "x", false, false),
        (("NOT_EQUALS", #""a""#), "b", true, true),
        (("NOT_EQUALS", #""a""#), "a", false, false),
        (("NOT_EQUALS", "null"), "x", true, false),
        (("GREATER_THAN", "5"), 6, true, true),
        (("GREATER_THAN", "5"), 5, false, false),
        (("GREATER_THAN", "5"), 6.5, false, true),
        (("GREATER_THAN", "5.5"), 6.0, true, true),
        (("GREATER_THAN", #""b""#), "c", true, true),
        (("GREATER_THAN", "false"), true, false, false),
        (("GREATER_THAN_OR_EQUALS", "5"), 5, true, true),
        (("LOWER_THAN", "5"), 4, true, true),
        (("LOWER_THAN_OR_EQUALS", "5"), 5, true, true),
        (("LOWER_THAN_OR_EQUALS", "5"), 6, false, false),
        (("LOWER_THAN", #""b""#), 4, false, false),
        (("CONTAINS", #""yo""#), "Lyon", true, true),
        (("CONTAINS", #""YO""#), "Lyon", false, true),
        (("CONTAINS", #""é""#), "cafe\u{301}s", true, true),
        (("CONTAINS", #""""#), "Lyon", false, true),
        (("CONTAINS", "5"), 5, false, false),
        (("NOT_CONTAINS", #""xx""#), "Lyon", true, true),
        (("NOT_CONTAINS", #""yo""#), "Lyon", false, false),
        (("NOT_CONTAINS", #""""#), "Lyon", true, false),
        (("STARTS_WITH", #""ly""#), "Lyon", false, true),
        (("ENDS_WITH", #""on""#), "Lyon", false, true),
        (("EXISTS", "true"), "Lyon", false, true),
        (("EXISTS", "true"), nil, false, false),
        (("EXISTS", "false"), nil, false, true),
        (("NOT_EXISTS", "true"), nil, false, true),
        (("NOT_EXISTS", "true"), "Lyon", false, false),
        (("SEMVER_EQUALS", #""1""#), "1", false, false),
        (("equals", #""a""#), "a", false, false),
    ]

    @Test("every operator matches as in the table, under both sets of rules", arguments: table.indices)
    func operators(index: Int) throws {
        let (rule, value, ios, server) = Self.table[index]
        let targeting = Sample.targeting([[Sample.rule(rule.0, "key", rule.1)]])
        let attributes = value.map { Attributes(["key": $0]) } ?? [:]
        #expect(try Sample.matches(targeting, attributes) == ios, "\(rule) by the rules of iOS")
        #expect(try Sample.matches(targeting, attributes, rules: .server) == server, "\(rule) by the server's rules")
    }

    @Test(
        "F32 without a value no rule holds, not even a negative one",
        arguments: [
            "EQUALS", "NOT_EQUALS", "CONTAINS", "NOT_CONTAINS", "GREATER_THAN", "LOWER_THAN",
        ]
    )
    func missingValue(comparison: String) throws {
        let targeting = Sample.targeting([[Sample.rule(comparison, "key", #""a""#)]])
        for rules in FlagshipRules.allCases {
            #expect(try !Sample.matches(targeting, [:], rules: rules))
            // A value of a type that the vendor doesn't support counts as missing.
            #expect(try !Sample.matches(targeting, ["key": ["nested": 1]], rules: rules))
        }
    }

    @Test("F33 between two types NOT_EQUALS holds and NOT_CONTAINS doesn't; by the server's rules neither does")
    func typeMismatch() throws {
        for (comparison, ios) in [("NOT_EQUALS", true), ("NOT_CONTAINS", false)] {
            let targeting = Sample.targeting([[Sample.rule(comparison, "key", #""a""#)]])
            #expect(try Sample.matches(targeting, ["key": 5]) == ios)
            #expect(try !Sample.matches(targeting, ["key": 5], rules: .server))
        }
    }

    @Test(
        "F34 a list holds for any of its values, a negative one for all",
        arguments: [
            ("EQUALS", #"["a","b"]"#, "b", true), ("EQUALS", #"["a","b"]"#, "c", false),
            ("NOT_EQUALS", #"["a","b"]"#, "c", true), ("NOT_EQUALS", #"["a","b"]"#, "b", false),
            ("CONTAINS", #"["a","b"]"#, "xbx", true), ("NOT_CONTAINS", #"["a","b"]"#, "xbx", false),
            ("NOT_CONTAINS", #"["a","b"]"#, "xx", true), ("EQUALS", "[1,2]", 2, true),
        ] as [(String, String, FlagValue, Bool)]
    )
    func lists(comparison: String, list: String, value: FlagValue, isMatch: Bool) throws {
        let targeting = Sample.targeting([[Sample.rule(comparison, "key", list)]])
        for rules in FlagshipRules.allCases {
            #expect(try Sample.matches(targeting, ["key": value], rules: rules) == isMatch)
        }
    }

    @Test(
        "iOS can't read a list of mixed types or of Booleans: only NOT_EQUALS holds",
        arguments: [
            (#"["a",1]"#, FlagValue("a")), ("[true]", true),
        ]
    )
    func mixedLists(list: String, value: FlagValue) throws {
        #expect(try !Sample.matches(Sample.targeting([[Sample.rule("EQUALS", "key", list)]]), ["key": value]))
        #expect(try Sample.matches(Sample.targeting([[Sample.rule("NOT_EQUALS", "key", list)]]), ["key": value]))
        #expect(
            try Sample.matches(Sample.targeting([[Sample.rule("EQUALS", "key", list)]]), ["key": value], rules: .server)
        )
    }

    @Test("on iOS, a list of integers and fractions is one of fractions")
    func promotedLists() throws {
        let targeting = Sample.targeting([[Sample.rule("EQUALS", "key", "[1,2.5]")]])
        #expect(try Sample.matches(targeting, ["key": 1.0]))
        #expect(try !Sample.matches(targeting, ["key": 1]))
        #expect(try Sample.matches(targeting, ["key": 1], rules: .server))
    }

    @Test("an empty list matches all on iOS, even without a value; on the server only a negative one with a value")
    func emptyLists() throws {
        for comparison in ["EQUALS", "NOT_EQUALS", "CONTAINS", "GREATER_THAN"] {
            let targeting = Sample.targeting([[Sample.rule(comparison, "key", "[]")]])
            #expect(try Sample.matches(targeting))
            #expect(try Sample.matches(targeting, ["key": "a"]))
            #expect(try !Sample.matches(targeting, rules: .server))
            #expect(try Sample.matches(targeting, ["key": "a"], rules: .server) == (comparison == "NOT_EQUALS"))
        }
    }

    @Test("F35 an ordering operator with a list never holds")
    func orderWithList() throws {
        for comparison in ["GREATER_THAN", "LOWER_THAN", "GREATER_THAN_OR_EQUALS", "LOWER_THAN_OR_EQUALS"] {
            let targeting = Sample.targeting([[Sample.rule(comparison, "key", "[1,9]")]])
            for rules in FlagshipRules.allCases {
                #expect(try !Sample.matches(targeting, ["key": 5], rules: rules))
            }
        }
    }

    @Test(
        "F36 an unknown operator invalidates only its own group on iOS, and the whole targeting by the server's rules"
    )
    func unknownOperator() throws {
        let targeting = Sample.targeting([
            [Sample.rule("RESEMBLES", "key", #""a""#)], [Sample.rule("EQUALS", "key", #""a""#)],
        ])
        #expect(try Sample.matches(targeting, ["key": "a"]))
        #expect(try !Sample.matches(targeting, ["key": "a"], rules: .server))
    }

    @Test("F37 rules for single visitors use the visitor's id, whatever the context says")
    func singleVisitors() throws {
        let targeting = Sample.targeting([[Sample.rule("EQUALS", "fs_users", #"["ada","ben"]"#)]])
        for rules in FlagshipRules.allCases {
            #expect(try Sample.matches(targeting, ["fs_users": "cleo"], rules: rules, id: "ben"))
            #expect(try !Sample.matches(targeting, ["fs_users": "ada"], rules: rules, id: "cleo"))
        }
    }

    @Test("the rule for all visitors matches after the context was cleared, too")
    func everybody() throws {
        for rules in FlagshipRules.allCases { #expect(try Sample.matches(Sample.everybody, [:], rules: rules)) }
    }

    @Test(
        "missing or unreadable targeting matches no visitor; on iOS, an empty or unreadable list matches all",
        arguments: [
            ("null", false, false), ("{}", false, false), (#"{"targetingGroups":[]}"#, false, false),
            (#"{"targetingGroups":7}"#, false, false), (#"{"targetingGroups":[{"targetings":[]}]}"#, true, false),
            (#"{"targetingGroups":[{"targetings":null}]}"#, true, false),
            (#"{"targetingGroups":[{"targetings":[7]}]}"#, true, false), (#"{"targetingGroups":[7]}"#, false, false),
        ]
    )
    func emptyTargeting(targeting: String, ios: Bool, server: Bool) throws {
        #expect(try Sample.matches(targeting) == ios)
        #expect(try Sample.matches(targeting, rules: .server) == server)
    }

    @Test("automatic keys can be targeted, and the application's values take precedence")
    func automaticKeys() throws {
        let sample = Sample(
            groups: [("g", Sample.targeting([[Sample.rule("EQUALS", "sdk_osName", #""iOS""#)]]), [("v", "100")])]
        )
        let file = try CampaignsDocument(try JSON.parse(sample.json))
        let ruleset = BucketingRuleset(file, rules: .ios, automatic: ["sdk_osName": "iOS"])
        func keys(_ attributes: Attributes) -> [String] {
            let user = User(id: "v", attributes: attributes)
            return ruleset.decisions(for: EvaluationContext(user: user, date: .distantPast)).keys
        }
        #expect(keys([:]) == ["flag"])
        #expect(keys(["sdk_osName": "Linux"]) == [])
    }
}
