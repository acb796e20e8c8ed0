import Experimentation
import ExperimentationMigration

extension MigrationReport {
    /// How many of the newest mismatches a page shows.
    private static let shown = 10

    /// The report for the console.
    var document: FlagValue {
        [
            "stage": .string(stage.rawValue), "share": .double(share), "held": .array(held.map { .string($0) }),
            "pinnedOld": .int(pinned[.old] ?? 0), "pinnedNew": .int(pinned[.new] ?? 0), "changed": .int(changed),
            "compared": .int(compared), "dropped": .int(dropped),
            "mismatches": .object(
                Dictionary(uniqueKeysWithValues: confirmed.map { ($0.key.rawValue, FlagValue.int($0.value)) })
            ),
            "upperBound": .double(rate.upperBound()), "ratios": .array(ratioTests.map(\.document)),
            // Differences in vendors' own words for variants and reasons are only counted, because they would hide the
            // others here.
            "recent": .array(recent.filter(\.kind.isVisible).suffix(Self.shown).reversed().map(\.document)),
        ]
    }
}

extension MigrationReport {
    /// A sample-ratio test with its subject.
    struct RatioTest {
        /// The stage; empty for the whole move.
        var stage = ""
        /// What the test counts: `sides`, `places` or `exposures`.
        var kind: String
        /// The old vendor's experiment; empty for the sides.
        var name = ""
        var ratio: Ratio

        fileprivate var document: FlagValue {
            [
                "stage": .string(stage), "kind": .string(kind), "name": .string(name),
                "counts": .object(ratio.counts.mapValues { .int($0) }), "p": .double(ratio.pValue),
                "alarm": .bool(ratio.isAlarming),
            ]
        }
    }

    /// All tests: of the whole move, then of each stage in order.
    var ratioTests: [RatioTest] {
        let whole = (sides.map { [RatioTest(kind: "sides", ratio: $0)] } ?? []) + Self.tests("", allocations, exposed)
        return MigrationStage.allCases.reduce(into: whole) { tests, stage in
            guard let own = stages[stage] else { return }
            tests += Self.tests(stage.rawValue, own.allocations, own.exposed)
        }
    }

    private static func tests(
        _ stage: String,
        _ places: [String: Ratio],
        _ exposures: [String: Ratio]
    ) -> [RatioTest] {
        [("places", places), ("exposures", exposures)].flatMap { kind, ratios in
            ratios.sorted { $0.key < $1.key }.map { RatioTest(stage: stage, kind: kind, name: $0.key, ratio: $0.value) }
        }
    }
}

extension Mismatch {
    fileprivate var document: FlagValue {
        [
            "flag": .string(key), "class": .string(kind.rawValue), "leader": .string(leader.rawValue),
            "old": old.document, "new": new.document, "user": .string(String(user.prefix(8))),
        ]
    }
}

extension Mismatch.Answer {
    fileprivate var document: FlagValue {
        if let code { return .string(code.rawValue) }
        guard let resolution else { return "–" }
        return .string(String(decoding: AnswerForms.bytes(of: resolution.value), as: UTF8.self))
    }
}
