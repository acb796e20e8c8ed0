import Experimentation
import ExperimentationMigration

extension MigrationReport {
    /// How many of the newest mismatches a page shows.
    private static let shown = 10

    /// The report for the console.
    var document: FlagValue {
        let alarms =
            (sides?.isAlarming == true ? ["sides"] : [])
            + allocations.filter(\.value.isAlarming).keys.sorted() + exposed.filter(\.value.isAlarming).keys.sorted()
        return [
            "stage": .string(stage.rawValue), "share": .double(share), "held": .array(held.map { .string($0) }),
            "pinnedOld": .int(pinned[.old] ?? 0), "pinnedNew": .int(pinned[.new] ?? 0), "changed": .int(changed),
            "compared": .int(compared), "dropped": .int(dropped),
            "mismatches": .object(
                Dictionary(uniqueKeysWithValues: confirmed.map { ($0.key.rawValue, FlagValue.int($0.value)) })
            ),
            "upperBound": .double(rate.upperBound()), "alarms": .array(alarms.map { .string($0) }),
            // A vendor's own words for variants and reasons are counted, and would hide the others here.
            "recent": .array(recent.filter(\.kind.isVisible).suffix(Self.shown).reversed().map(\.document)),
        ]
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
