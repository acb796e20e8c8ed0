import Foundation
import Testing

@testable import Experimentation

@Suite("Decisions in their written form")
struct StoredDecisionsTests {
    private static let plain = Assignment(experiment: Experiment(id: "e"), variation: Variation(id: "v"))
    private static let full = Assignment(
        experiment: Experiment(id: "é/\"", name: "A\u{7}\u{2028}", kind: "ab"),
        group: "",
        variation: Variation(id: "c", name: "contrôle", isControl: true),
        isHoldout: true,
        origin: .forcedHere,
        metadata: ["b": [1, 2.5, .null], "a": ["z": true, "y": "x"], "ü": 1]
    )
    private static let unusual = Resolution(
        .null,
        reason: Reason(rawValue: "NEW\n"),
        error: .parseError,
        errorMessage: "can't be read",
        metadata: ["é": "ï", "a": 100.0, "big": .int(.max), "small": -1e-300],
        assignment: 1
    )

    private static let samples: [Decisions] = [
        .none,
        Decisions(
            flags: [("f", Resolution(.string("red"), variant: "red", reason: .split, assignment: 0))],
            assignments: [plain]
        ),
        Decisions(flags: [], assignments: [full, plain]),
        Decisions(
            flags: [
                ("", Resolution(.bool(true))), ("k/\\", Resolution(.double(0.1), variant: "")), ("unusual", unusual),
                ("list", Resolution([1, [2, ["three": .null]], "4"])),
                ("object", Resolution(["b": ["d": 1.0, "c": false], "a": [], "o": [:]])),
            ],
            assignments: [full, plain]
        ),
    ]

    @Test("they are written exactly as by JSONEncoder", arguments: samples)
    func bytes(decisions: Decisions) throws {
        for seconds in [0, 815_000_000.123, -1.5, 1e9] {
            let stored = StoredDecisions(decisions, date: Date(timeIntervalSinceReferenceDate: seconds))
            let expected = try JSONWriter.encoder().encode(stored)
            #expect(String(decoding: try stored.written(), as: UTF8.self) == String(decoding: expected, as: UTF8.self))
            let read = try JSONDecoder().decode(StoredDecisions.self, from: Data(try stored.written()))
            #expect(read.date == stored.date)
        }
    }

    @Test("a number that JSON can't represent is rejected, as by JSONEncoder")
    func infinite() {
        let decisions = Decisions(flags: [("f", Resolution(.double(.infinity)))])
        let stored = StoredDecisions(decisions, date: Date(timeIntervalSinceReferenceDate: 0))
        #expect(throws: (any Error).self) { try stored.written() }
        #expect(throws: (any Error).self) { try JSONWriter.encoder().encode(stored) }
    }
}
