import Experimentation
import ExperimentationMigration
import Foundation

extension MoveReport {
    /// The report as a document, described by `docs/schemas/move-report.schema.json`.
    public var document: FlagValue {
        [
            "from": .string(old), "to": .string(new), "users": .int(users),
            "experiments": .array(experiments.map { .string($0) }),
            "changedVariant": .int(changedVariant), "unassigned": .int(unassigned),
            "leftOut": .array(leftOut.map { .string($0) }), "changes": .array(changes.map { .string($0) }),
            "exposures": .object(exposures.mapValues(\.document)),
            "ledgers": .object(ledgers.mapValues(\.document)),
            "unsupported": .object(unsupported.mapValues { .int($0) }),
            "compared": .int(compared), "dropped": .int(dropped),
            "mismatches": .object(
                Dictionary(
                    uniqueKeysWithValues: Mismatch.Kind.allCases.map { ($0.rawValue, .int(mismatches[$0] ?? 0)) }
                )
            ),
            "sampleRatio": .object(ratios.mapValues(\.document)),
            "stages": .array(stages.map(\.document)),
        ]
    }
}

extension MoveReport.Stage {
    fileprivate var document: FlagValue {
        [
            "title": .string(title), "stage": .string(stage.rawValue), "share": .double(share),
            "reached": .string(reached.rawValue), "held": .array(held.map { .string($0) }), "users": .int(users),
            "ledBy": .object(ledBy.mapValues { .int($0) }), "failed": .int(failed),
            "changedVariant": .int(changedVariant), "away": away.map { .string($0) } ?? .null,
            "killed": .bool(isKilled),
        ]
    }
}

extension MoveReport.Exposures {
    fileprivate var document: FlagValue {
        [
            "expected": .int(expected), "received": .int(received), "twice": .int(twice), "missing": .int(missing),
            "unsupported": .int(unsupported), "unexpected": .int(unexpected),
        ]
    }
}

extension MoveReport.Accounts {
    fileprivate var document: FlagValue {
        func time(_ date: Date?) -> FlagValue {
            date.map { .string($0.iso8601Milliseconds) } ?? .null
        }
        return [
            "ledger": [
                "accepted": .int(ledger.accepted), "delivered": .int(ledger.delivered),
                "pending": .int(ledger.pending), "purged": .int(ledger.purged),
                "dropped": .object(
                    Dictionary(
                        ledger.dropped.map { ($0.key.rawValue, FlagValue.int($0.value)) },
                        uniquingKeysWith: { $1 }
                    )
                ),
            ],
            "waiting": [
                "ready": .int(status.ready), "held": .int(status.held), "delayed": .int(status.delayed),
                "leased": .int(status.leased), "bytes": .int(status.bytes), "oldest": time(status.oldest),
                "nextAttempt": time(status.nextAttempt), "failures": .object(status.failures.mapValues { .int($0) }),
            ],
        ]
    }
}

extension MigrationReport.Ratio {
    fileprivate var document: FlagValue {
        ["counts": .object(counts.mapValues { .int($0) }), "pValue": .double(pValue), "alarm": .bool(isAlarming)]
    }
}
