import AdapterKit
import Experimentation
import HTTPTypes

/// Mutants of Sigma: the configuration. Requests carry nothing but a token.
extension WireMutant {
    static let sigma: [WireMutant] = [
        WireMutant(
            "leaves its token out",
            caughtBy: "evaluation/boolean-values",
            send: { sent in
                if let token = HTTPField.Name("token") { sent.request.headerFields[token] = nil }
            }
        ),
        read("takes every flag for a text", "evaluation/boolean-values") { $0.set("feature_flags.*.type", "string") },
        read("reads numbers as whole ones", "evaluation/fractions") {
            $0.change("feature_flags.*.rules.*.value") { text in
                text.stringValue.flatMap(Double.init).map { .string("\(Int($0.rounded(.towardZero)))") } ?? text
            }
        },
        read("reads objects as texts", "evaluation/objects") {
            $0.change("feature_flags.*.type") { $0 == "json" ? "string" : $0 }
        },
        read("takes the default rule for one like the others", "snapshots/users-are-kept-apart") {
            $0.set("feature_flags.*.rules.*.is_default", true)
        },
        read("reads one operator as its opposite", "targeting/not-equal") {
            $0.change("feature_flags.*.rules.*.conditions.*.condition_sign") { $0 == "none of" ? "any of" : $0 }
        },
        read("reads greater as greater or equal", "targeting/less-and-greater") {
            $0.change("feature_flags.*.rules.*.conditions.*.condition_sign") {
                $0 == "greater" ? "greater equal" : $0
            }
        },
        read("reads before as after", "targeting/before-and-after") {
            $0.change("feature_flags.*.rules.*.conditions.*.condition_sign") {
                $0 == "before time" ? "after time" : $0
            }
        },
        read("takes a day for the moment that it begins", "targeting/on-a-day") {
            $0.change("feature_flags.*.rules.*.conditions.*.condition_sign") { $0 == "on date" ? "equal" : $0 }
        },
        read("takes the application's version for a property of its own", "targeting/versions") {
            $0.change("feature_flags.*.rules.*.conditions.*.name") { $0 == "appVersion" ? "custom.version" : $0 }
        },
        read("wants one of two conditions", "targeting/all-conditions-together") {
            $0.set("feature_flags.*.rules.*.conditional_statement", "OR")
        },
        read("skips conditions whose operator it doesn't know", "malformed/unknown-beside-known") {
            $0.change("feature_flags.*.rules.*.conditions") { conditions in
                .array((conditions.arrayValue ?? []).filter { $0.objectValue?["condition_sign"] != "resembles" })
            }
        },
        read("looks at the first of several values", "targeting/one-of-several") {
            $0.change("feature_flags.*.rules.*.conditions.*.value") { .array(Array(($0.arrayValue ?? []).prefix(1))) }
        },
        read("overlooks where a property of the application's lies", "snapshots/users-are-kept-apart") {
            $0.change("feature_flags.*.rules.*.conditions.*.name") {
                .string(($0.stringValue ?? "").replacing("custom.", with: ""))
            }
        },
        read("overlooks whom an experiment is meant for", "experiments/outside-the-audience") {
            $0.drop("experiments.*.targets")
        },
        read("overlooks the parts of a layer", "experiments/one-of-a-layer") {
            $0.drop("experiments.*.layer_id")
            $0.drop("experiments.*.layer_bounds")
        },
        read("draws one place for all layers", "experiments/layers-apart") {
            $0.change("experiments.*.layer_id") { $0 == .null ? $0 : "layer" }
        },
        read("overlooks shares", "experiments/both-halves-are-used") {
            $0.change("experiments.*.groups.*.weight") { $0 == 50 ? ($0.intValue.map { .int($0 * 2) }) : $0 }
        },
        read("draws anew after each fetch", "experiments/same-in-every-run", salted: true),
        read("overlooks forced users", "experiments/forced-by-the-vendor") {
            $0.set("experiments.*.groups.*.forced_user_list", [])
        },
        read("overlooks which group is the control", "experiments/control-is-visible") {
            $0.drop("experiments.*.groups.*.label")
        },
        read("overlooks holdouts of an experiment", "experiments/holdout-keeps-out") {
            $0.set("experiments.*.holdouts", [])
        },
        read("takes a holdout for an experiment", "experiments/holdout-is-visible") {
            $0.set("experiments.*.type", 1)
        },
        read("overlooks the flags of an experiment", "experiments/everybody-in-one-variation") {
            $0.set("experiments.*.feature_flags", [])
        },
        read("takes one group's value for another's", "experiments/everybody-in-one-variation") {
            $0.change("experiments.*.feature_flags.*.groups") { groups in
                var groups = groups
                groups.change("*.group") { $0 == "green" ? "control" : "green" }
                return groups
            }
        },
        WireMutant(
            "takes a failure for an empty configuration",
            on: "config.json",
            status: 500,
            as: 200,
            body: #"{"feature_flags":[],"experiments":[]}"#,
            caughtBy: "caching/outlives-a-500"
        ),
        WireMutant(
            "takes a refused token for an empty configuration",
            on: "config.json",
            status: 401,
            as: 200,
            body: #"{"feature_flags":[],"experiments":[]}"#,
            caughtBy: "failures/first-answer-is-a-401"
        ),
    ]

    private static func read(
        _ name: String,
        _ caughtBy: String,
        _ change: @escaping @Sendable (inout FlagValue) -> Void
    ) -> WireMutant {
        WireMutant(name, on: "config.json", caughtBy: caughtBy, answered: change)
    }

    private static func read(_ name: String, _ caughtBy: String, salted: Bool) -> WireMutant {
        WireMutant(
            name,
            on: "config.json",
            caughtBy: caughtBy,
            answered: { value in
                let salt = "\(UInt64.random(in: .min ... .max))"
                value.change("experiments.*.salt") { .string(($0.stringValue ?? "") + salt) }
            }
        )
    }
}
