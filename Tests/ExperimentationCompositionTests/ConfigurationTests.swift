import Experimentation
import ExperimentationComposition
import Testing
import VendorCatalog

@Suite("A composition as a file")
struct ConfigurationTests {
    private static let vendors = #"""
        "vendors":{"sigma":{"projectToken":{"env":"TOKEN"}},"evergage":{"account":"acme.us-1","dataset":"engage"},
        "warehouse":{"vendor":"file","path":"/tmp/events.jsonl"}}
        """#

    private func composed(_ rest: String) throws(ExperimentationError) -> ComposedProvider {
        let json = #"{"vendor":"composed",\#(rest)\#(Self.vendors)}"#
        let provider = try VendorCatalog.provider(json: Array(json.utf8), file: "c.json", environment: ["TOKEN": "t"])
        guard let composed = provider as? ComposedProvider else { throw ExperimentationError(.general, "another") }
        return composed
    }

    @Test("a file says which vendors decide, which get which events, and the form of exposures")
    func reading() throws {
        let provider = try composed(
            #"""
            "name":"shop","decisions":{"rows":[{"flags":["a","b"],"from":"sigma"},{"prefix":"x_","from":["sigma"]}],
            "others":"sigma","fallback":"first-successful"},
            "events":{"purchase":["evergage","warehouse"],"*":"warehouse"},
            "exposures":{"event":"seen","fields":{"experiment":"test"}},
            """#
        )
        #expect(provider.name == "shop")
        #expect(
            provider.vendors.map { [$0.name, $0.provider.name] } == [
                ["evergage", "evergage"], ["sigma", "sigma"], ["warehouse", "file"],
            ]
        )
        #expect(
            provider.decisions
                == DecisionTable(
                    [.flags(["a", "b"], from: "sigma"), .prefix("x_", from: "sigma")],
                    others: ["sigma"],
                    fallback: .firstSuccessful
                )
        )
        #expect(provider.events == ["purchase": ["evergage", "warehouse"], "*": ["warehouse"]])
        #expect(provider.exposures == ExposureEvent(name: "seen", fields: [.experiment: "test"]))
    }

    @Test("a vendor or a list of vendors is the short form of a table")
    func shortForms() throws {
        let provider = try composed(#""decisions":"sigma","events":["evergage","warehouse"],"#)
        #expect(provider.decisions == .from("sigma") && provider.events == .to("evergage", "warehouse"))
        let bare = try composed("")
        #expect(bare.decisions == DecisionTable() && bare.events == EventTable())
    }

    static let bad: [(String, String)] = [
        (
            #""decisions":"nobody","#,
            #"c.json: "decisions": there is no vendor "nobody"; there are evergage, sigma, warehouse"#
        ),
        (#""decisions":7,"#, #"c.json: "decisions": expected a list of texts, found a whole number"#),
        (
            #""decisions":{"rows":[{"flags":["a"],"from":"sigma"},{"flags":["a"],"from":"evergage"}]},"#,
            #"c.json: "decisions": the flag "a" is claimed twice: by sigma and by evergage"#
        ),
        (
            #""decisions":{"rows":[{"flags":["a"],"prefix":"b","from":"sigma"}]},"#,
            #"c.json: "decisions.rows[0].flags": a row has flags or a prefix, not both"#
        ),
        (
            #""decisions":{"rows":[{"flags":["a"],"from":"sigma","to":1}]},"#,
            #"c.json: "decisions.rows[0].to": no such setting; there are flags, from, prefix"#
        ),
        (
            #""decisions":{"fallback":"last"},"#,
            #"c.json: "decisions.fallback": expected one of first-match, first-successful"#
        ),
        (
            #""events":{"purchase":"nobody"},"#,
            #"c.json: "events.purchase": there is no vendor "nobody"; there are evergage, sigma, warehouse"#
        ),
        (
            #""exposures":{"fields":{"colour":"c"}},"#,
            #"c.json: "exposures.fields.colour": no such setting; there are experiment, experimentName, flag, group, isControl, provider, variation, variationName"#
        ),
    ]

    @Test("an error names the faulty key", arguments: bad)
    func refused(rest: String, line: String) {
        #expect(throws: ExperimentationError(.configuration, line)) { try composed(rest) }
    }

    @Test(
        "an error names the key of a vendor's own setting, even if the vendor is a composition",
        arguments: [
            (#"{"vendor":"file"}"#, #""vendors.own.path": missing; expected a text"#),
            (#"{"vendor":"composed","vendors":{}}"#, #""vendors.own.vendors": a composition needs a vendor"#),
            (
                #"{"vendor":"composed","vendors":{"f":{"vendor":"file","path":"/tmp/e"}},"events":"g"}"#,
                #""vendors.own.events.*": there is no vendor "g"; there are f"#
            ),
        ]
    )
    func ownSetting(vendor: String, line: String) {
        let json = #"{"vendor":"composed","vendors":{"own":\#(vendor)}}"#
        #expect(throws: ExperimentationError(.configuration, "c.json: " + line)) {
            try VendorCatalog.provider(json: Array(json.utf8), file: "c.json")
        }
    }

    @Test("an error about a missing vendor names its key")
    func noSuchVendor() throws {
        let json = #"{"vendor":"composed","vendors":{"nobody":{}}}"#
        let error = #expect(throws: ExperimentationError.self) {
            try VendorCatalog.provider(json: Array(json.utf8), file: "c.json")
        }
        #expect(error?.message.hasPrefix(#"c.json: "vendors.nobody.vendor": there is no "nobody"; "#) == true)
    }

    @Test("the output of xp mock is valid as a vendor's settings, unchanged")
    func printedByAMock() throws {
        let line =
            #"{"vendor":"sigma","url":"http://127.0.0.1:1","endpoints":{"api":"http://127.0.0.1:1/api/v1/"},"#
            + #""credentials":{"projectToken":"t"}}"#
        let json = #"{"vendor":"composed","vendors":{"one":\#(line),"w":{"vendor":"file","path":"/tmp/e"}}}"#
        let provider = try #require(
            try VendorCatalog.provider(json: Array(json.utf8), file: "c.json") as? ComposedProvider
        )
        let alone = try VendorCatalog.provider(json: Array(line.utf8), file: "c.json")
        #expect(provider.vendors.first?.name == "one")
        #expect(provider.vendors.first?.provider.destination == alone.destination)
    }

    @Test(
        "two names for one account are one line with the second name, however the account is spelled",
        arguments: [
            #""one":{"vendor":"sigma","projectToken":"t"},"two":{"vendor":"sigma","projectToken":"t"}"#,
            #""one":{"vendor":"file","path":"/tmp/e.jsonl"},"two":{"vendor":"file","path":"/tmp/./x/../e.jsonl"}"#,
        ]
    )
    func oneAccount(vendors: String) {
        let line = #"c.json: "vendors.two": this is the same account as "one""#
        #expect(throws: ExperimentationError(.configuration, line)) {
            try VendorCatalog.provider(
                json: Array(#"{"vendor":"composed","vendors":{\#(vendors)}}"#.utf8),
                file: "c.json"
            )
        }
    }
}
