import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation

/// Faults of decisions.
extension PlantedFault {
    private static let everythingRead = [
        "evaluation/*", "types/*", "snapshots/*", "reasons/*", "malformed/*", "coalescing/*", "caching/*",
        "failures/*", "experiments/*", "overrides/*", "exposures/*", "consent/reading-needs-none", "identity/login*",
        "kill-switch/*", "privacy/*", "status/*",
    ]

    static let decisions: [PlantedFault] = [
        PlantedFault(
            "answers the default",
            caughtBy: "evaluation/boolean-values",
            alsoBlamedBy: everythingRead + ["changes/*", "contexts/*", "hooks/*", "targeting/*", "users/*"],
            .deciding { _, _ in .none }
        ),
        PlantedFault(
            "swallows an error and says that nothing has changed",
            caughtBy: "caching/outlives-a-500",
            alsoBlamedBy: [
                "caching/*", "failures/*", "evaluation/*", "status/*", "privacy/*",
                "kill-switch/an-outage-doesn't-lift-it",
            ],
            .fetching { source, validator async throws(ExperimentationError) in
                do throws(ExperimentationError) { return try await source.ruleset(ifNot: validator) } catch {
                    return .unchanged
                }
            }
        ),
        PlantedFault(
            "takes an unreadable answer for an empty one",
            caughtBy: "failures/first-answer-is-garbage",
            alsoBlamedBy: ["caching/*", "failures/*", "evaluation/*", "status/*", "privacy/*"],
            .fetching { source, validator async throws(ExperimentationError) in
                do throws(ExperimentationError) { return try await source.ruleset(ifNot: validator) } catch
                    where error.code == .parseError
                {
                    return .replaced(EmptyRuleset(), validator: nil, raw: [])
                }
            }
        ),
        PlantedFault(
            "never looks for changes",
            caughtBy: "snapshots/changed-value",
            alsoBlamedBy: [
                "snapshots/*", "caching/*", "experiments/*", "kill-switch/*", "status/*", "failures/*", "coalescing/*",
                "evaluation/*", "privacy/*",
            ] + ["changes/*", "exposures/again-when-the-variation-changes"],
            .fetching { source, validator async throws(ExperimentationError) in
                validator == nil ? try await source.ruleset(ifNot: nil) : .unchanged
            }
        ),
        PlantedFault(
            "mixes two users' snapshots",
            caughtBy: "snapshots/users-are-kept-apart",
            alsoBlamedBy: [
                "snapshots/*", "experiments/*", "exposures/*", "reasons/*", "malformed/*", "identity/*", "caching/*",
            ] + ["contexts/*", "evaluation/ids-of-every-script", "targeting/*", "users/*"],
            .knowing { context in
                var context = context
                context.user.id = User.ada.id
                context.user.attributes = User.ada.attributes
                return context
            }
        ),
        PlantedFault(
            "can't read a flag whose rule it doesn't know",
            caughtBy: "malformed/unknown-operator",
            alsoBlamedBy: ["users/one-flag*"],
            .deciding { decisions, _ in
                decisions.map(resolution: { $0.value == "usual" ? .unreadable(.parseError, "What rule is this?") : $0 })
            }
        ),
        PlantedFault(
            "can't read a flag whose rule compares something else",
            caughtBy: "malformed/attribute-of-another-type",
            .deciding { decisions, context in
                guard context.user.attributes["age"]?.stringValue != nil else { return decisions }
                return decisions.map(resolution: { _ in .unreadable(.parseError, "An age is a number.") })
            }
        ),
        PlantedFault(
            "cuts fractions off",
            caughtBy: "types/fraction-as-whole",
            alsoBlamedBy: [
                "evaluation/fractions", "reasons/value-and-details-agree", "users/one-flag*",
                "experiments/values-of-every-type", "targeting/values-of-every-type",
            ],
            .deciding { decisions, _ in
                decisions.mapValues { value in
                    if case .double(let number) = value { .int(Int(number.rounded(.towardZero))) } else { value }
                }
            }
        ),
        PlantedFault(
            "takes Booleans for numbers",
            caughtBy: "types/boolean-as-whole",
            alsoBlamedBy: ["evaluation/*", "types/*", "reasons/*", "snapshots/*", "malformed/*"] + [
                "targeting/*", "users/one-flag*", "experiments/values-of-every-type",
            ],
            .deciding { decisions, _ in
                decisions.mapValues { value in if case .bool(let flag) = value { .int(flag ? 1 : 0) } else { value } }
            }
        ),
        PlantedFault(
            "reads numbers out of texts",
            caughtBy: "types/digits-as-whole",
            alsoBlamedBy: ["types/digits-as-fraction"] + ["users/one-flag*"],
            .deciding { decisions, _ in
                decisions.mapValues { value in
                    value.stringValue.flatMap { Int($0) }.map { FlagValue.int($0) } ?? value
                }
            }
        ),
        PlantedFault(
            "reads every number as a Double",
            caughtBy: "types/beyond-double",
            alsoBlamedBy: ["users/one-flag*"],
            .deciding { decisions, _ in
                decisions.mapValues { value in
                    if case .int(let number) = value { .double(Double(number)) } else { value }
                }
            }
        ),
        PlantedFault(
            "takes an empty text for none",
            caughtBy: "evaluation/empty-text",
            alsoBlamedBy: ["users/one-flag*"],
            .deciding { decisions, _ in decisions.mapValues { $0 == "" ? .null : $0 } }
        ),
        PlantedFault(
            "decomposes texts",
            caughtBy: "evaluation/texts",
            alsoBlamedBy: ["evaluation/keys-of-every-script", "users/one-flag*"],
            .deciding { decisions, _ in
                decisions.mapValues { value in
                    value.stringValue.map { .string($0.decomposedStringWithCanonicalMapping) } ?? value
                }
            }
        ),
        PlantedFault(
            "says nothing of where a value comes from",
            caughtBy: "evaluation/metadata",
            alsoBlamedBy: ["users/one-flag*"],
            .deciding { decisions, _ in
                decisions.map(resolution: { resolution in
                    var resolution = resolution
                    resolution.metadata = [:]
                    return resolution
                })
            }
        ),
        PlantedFault(
            "ignores the kill switch",
            caughtBy: "kill-switch/reaches-the-next-read",
            alsoBlamedBy: ["kill-switch/*"],
            Self.deaf
        ),
        PlantedFault(
            "overlooks the kill switch in an answer to events",
            caughtBy: "kill-switch/in-an-answer-to-events",
            .sending { sink, batch in
                var report = await sink.deliver(batch)
                report.isDisabled = false
                return report
            }
        ),
        PlantedFault(
            "asks twice",
            caughtBy: "coalescing/one-request",
            alsoBlamedBy: ["coalescing/*", "caching/*", "status/*", "evaluation/*", "failures/*"],
            .fetching { source, validator async throws(ExperimentationError) in
                _ = try await source.ruleset(ifNot: validator)
                return try await source.ruleset(ifNot: validator)
            }
        ),
    ]

    private static let deaf = BentSubject.Bend(provider: { provider, _ in
        BentProvider(provider) { roles, _ in
            if case .computed(let source) = roles.decisions {
                roles.decisions = .computed(
                    BentRules(inner: source) { inner, validator async throws(ExperimentationError) in
                        let answer = try await inner.ruleset(ifNot: validator)
                        if case .disabled = answer { return .unchanged }
                        return answer
                    }
                )
            }
            if let events = roles.events {
                roles.events = BentSink(inner: events) { sink, batch in
                    var report = await sink.deliver(batch)
                    report.isDisabled = false
                    return report
                }
            }
        }
    })
}

/// Rules that decide nothing.
private struct EmptyRuleset: Ruleset {
    var catalogue: FlagCatalogue { .empty }
    func decisions(for context: EvaluationContext) -> Decisions { .none }
}
