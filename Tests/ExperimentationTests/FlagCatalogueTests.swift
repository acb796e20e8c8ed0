import Experimentation
import Testing

@Suite("A catalogue finds flags by their bytes")
struct FlagCatalogueTests {
    static let keys =
        ["", "a", "sevenby", "eight-by", "nine-byte", "é", "e\u{301}", "👩‍👩‍👧", "a.key.longer.than.fifteen.bytes"]
        + (0..<2_000).map { "generated.flag.\($0)" }

    @Test("each of two thousand keys is found at its own index, and no other key is found")
    func finds() {
        let catalogue = FlagCatalogue(flags: Self.keys.map { .init($0, outcomes: [Resolution(.string($0))]) })
        #expect(catalogue.count == Self.keys.count)
        for (index, key) in Self.keys.enumerated() {
            #expect(catalogue.index(of: key) == index)
            #expect(catalogue.resolution(ofFlag: index, outcome: 0)?.value == .string(key))
        }
        for key in ["b", "generated.flag.2000", "generated.flag.1 ", "É"] { #expect(catalogue.index(of: key) == nil) }
    }

    @Test("of two flags with the same key the later one counts")
    func later() {
        let catalogue = FlagCatalogue(flags: [
            .init("a", outcomes: [Resolution(1)]), .init("b", outcomes: [Resolution(2)]),
            .init("a", outcomes: [Resolution(3)]),
        ])
        #expect(catalogue.keys == ["b", "a"])
        #expect(catalogue.resolution(ofFlag: 1, outcome: 0) == Resolution(3))
    }

    @Test("indices outside the catalogue return nothing", arguments: [-1, 1, .max, .min])
    func outside(index: Int) {
        let catalogue = FlagCatalogue(flags: [.init("a", outcomes: [Resolution(1)])])
        #expect(catalogue.resolution(ofFlag: index, outcome: 0) == nil)
        #expect(catalogue.resolution(ofFlag: 0, outcome: index) == nil)
        #expect(catalogue.outcomeCount(ofFlag: index) == 0)
        #expect(Decisions(catalogue: catalogue, outcomes: [index])["a"] == nil)
        #expect(Decisions(catalogue: catalogue, outcomes: [0], alsoAssigned: [index]).assignments == [])
    }

    @Test("a flag may have more than 254 values", arguments: [0, 1, 253, 254, 255, 299])
    func wide(outcome: Int) {
        let catalogue = FlagCatalogue(flags: [
            .init("many", outcomes: (0..<300).map { Resolution(.int($0)) }),
            .init("one", outcomes: [Resolution("x")]),
        ])
        let decisions = Decisions(catalogue: catalogue, outcomes: [outcome, 0])
        #expect(decisions["many"]?.value == .int(outcome))
        #expect(decisions["one"]?.value == "x")
        #expect(Decisions(catalogue: catalogue, outcomes: [outcome])["one"] == nil)
    }

    @Test("assignments are those of the chosen values and those without a flag, each once")
    func assignments() {
        let places = ["a", "b", "c"].map { Assignment(experiment: Experiment(id: $0), variation: Variation(id: "v")) }
        let catalogue = FlagCatalogue(
            flags: [
                .init("one", outcomes: [Resolution(1, assignment: 0)]),
                .init("two", outcomes: [Resolution(1, assignment: 0), Resolution(2, assignment: 1)]),
            ],
            assignments: places
        )
        let decisions = Decisions(catalogue: catalogue, outcomes: [0, 0], alsoAssigned: [2, 0])
        #expect(decisions.assignments == [places[0], places[2]])
        #expect(Decisions(catalogue: catalogue, outcomes: [nil, 1]).assignments == [places[1]])
    }
}
