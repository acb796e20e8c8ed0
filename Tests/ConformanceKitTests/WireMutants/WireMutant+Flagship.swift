import AdapterKit
import Experimentation
import HTTPTypes

/// Mutants of Flagship: Decision API requests, exposures, hits, and the answers.
extension WireMutant {
    static let flagship: [WireMutant] = asked + exposed + hit + decided

    private static let asked: [WireMutant] = [
        WireMutant(
            "asks without an attribute",
            on: "/campaigns",
            caughtBy: "snapshots/users-are-kept-apart",
            sent: { $0.drop("context.plan") }
        ),
        WireMutant(
            "writes numbers of the context as texts",
            on: "/campaigns",
            caughtBy: "targeting/less-and-greater",
            sent: { $0.change("context.age") { .string($0.description) } }
        ),
        WireMutant(
            "leaves Booleans out of the context",
            on: "/campaigns",
            caughtBy: "targeting/true-and-false",
            sent: { $0.drop("context.member") }
        ),
        WireMutant(
            "cuts fractions of the context off",
            on: "/campaigns",
            caughtBy: "targeting/fractions",
            sent: { $0.change("context.weight") { .int(Int($0.doubleValue ?? 0)) } }
        ),
        WireMutant(
            "asks for everybody as one visitor",
            on: "/campaigns",
            caughtBy: "identity/login-changes-the-user",
            sent: {
                $0.set("visitor_id", "ada")
                $0.set("context.fs_users", "ada")
            }
        ),
        WireMutant(
            "names the visitor by another member",
            on: "/campaigns",
            caughtBy: "evaluation/boolean-values",
            sent: { $0.rename("", "visitor_id", "visitor") }
        ),
        WireMutant(
            "has each question count as an exposure",
            on: "/campaigns",
            caughtBy: "exposures/none-for-looking-around",
            sent: { $0.drop("trigger_hit") }
        ),
        WireMutant(
            "sends another key",
            caughtBy: "evaluation/boolean-values",
            send: { sent in
                guard let key = HTTPField.Name("x-api-key"), sent.request.headerFields[key] != nil else { return }
                sent.request.headerFields[key] = "another"
            }
        ),
    ]

    private static let exposed: [WireMutant] = [
        WireMutant(
            "swaps variation and group of an exposure",
            on: "/activate",
            caughtBy: "exposures/say-what-was-seen",
            sent: { $0.swap("batch.*", "caid", "vaid") }
        ),
        WireMutant(
            "exposes somebody else",
            on: "/activate",
            caughtBy: "exposures/say-who-saw-it",
            sent: { $0.set("batch.*.vid", "somebody") }
        ),
        WireMutant(
            "leaves the anonymous id out of an exposure",
            on: "/activate",
            caughtBy: "exposures/both-ids-travel",
            sent: { $0.drop("batch.*.aid") }
        ),
        WireMutant(
            "leaves out how long an exposure waited",
            on: "/activate",
            caughtBy: "exposures/original-time",
            sent: { $0.drop("batch.*.qt") }
        ),
        WireMutant(
            "writes the waiting of an exposure in seconds",
            on: "/activate",
            caughtBy: "exposures/original-time",
            sent: { $0.change("batch.*.qt") { .int(($0.intValue ?? 0) / 1_000) } }
        ),
        WireMutant(
            "takes a refused exposure for one that was taken",
            on: "/activate",
            status: 503,
            as: 204,
            caughtBy: "exposures/outlive-an-outage"
        ),
    ]

    private static let hit: [WireMutant] = [
        WireMutant(
            "names an event's action by its label",
            on: "/",
            caughtBy: "delivery/one-event",
            sent: {
                $0.rename("h.*", "ea", "el")
            }
        ),
        WireMutant("leaves out an event's value", on: "/", caughtBy: "events/custom", sent: { $0.drop("h.*.ev") }),
        WireMutant(
            "leaves out how long a hit waited",
            on: "/",
            caughtBy: "delivery/original-time",
            sent: {
                $0.drop("h.*.qt")
            }
        ),
        WireMutant(
            "writes the waiting of a hit in seconds",
            on: "/",
            caughtBy: "delivery/original-time",
            sent: {
                $0.change("h.*.qt") { .int(($0.intValue ?? 0) / 1_000) }
            }
        ),
        WireMutant(
            "swaps the ids of a hit",
            on: "/",
            caughtBy: "identity/both-ids-travel",
            sent: {
                $0.swap("h.*", "vid", "cuid")
            }
        ),
        WireMutant(
            "sends all hits as one visitor's",
            on: "/",
            caughtBy: "delivery/whose-it-is",
            sent: {
                $0.set("h.*.vid", "somebody")
            }
        ),
        WireMutant(
            "gives a transaction another id",
            on: "/",
            caughtBy: "events/purchase",
            sent: {
                $0.set("h.*.tid", "transaction")
            }
        ),
        WireMutant(
            "writes a total in cents",
            on: "/",
            caughtBy: "events/purchase",
            sent: {
                $0.change("h.*.tr") { .double(($0.doubleValue ?? 0) * 100) }
            }
        ),
        WireMutant(
            "leaves out a transaction's items",
            on: "/",
            caughtBy: "events/purchase",
            sent: {
                $0.change("h.*") { $0.objectValue?["t"] == "ITEM" ? nil : $0 }
            }
        ),
        WireMutant(
            "sends a transaction twice, with its items",
            on: "/",
            caughtBy: "events/purchase",
            sent: { repeatHits(of: ["TRANSACTION", "ITEM"], in: &$0) }
        ),
        WireMutant(
            "sends a transaction's items twice",
            on: "/",
            caughtBy: "events/purchase",
            sent: { repeatHits(of: ["ITEM"], in: &$0) }
        ),
        WireMutant(
            "calls a screen a page",
            on: "/",
            caughtBy: "events/screenView",
            sent: {
                $0.change("h.*.t") { $0 == "SCREENVIEW" ? "PAGEVIEW" : $0 }
            }
        ),
        WireMutant(
            "tells consent the wrong way round",
            on: "/",
            caughtBy: "consent/signal-when-given",
            sent: {
                $0.change("h.*.el") { .string(($0.stringValue ?? "").replacing(":true", with: ":false")) }
            }
        ),
        WireMutant(
            "sends hits backwards",
            on: "/",
            caughtBy: "delivery/in-order",
            sent: {
                $0.change("h") { .array(($0.arrayValue ?? []).reversed()) }
            }
        ),
        WireMutant(
            "takes a failing collector for one that took it",
            on: "/",
            status: 500,
            as: 200,
            caughtBy: "outages/not-delivered-by-a-500"
        ),
        WireMutant(
            "gives up what it may send later",
            on: "/",
            status: 429,
            as: 422,
            caughtBy: "outages/retry-after-is-honoured"
        ),
        .deafToRetryAfter(on: "/"),
    ]

    private static func repeatHits(of types: [FlagValue], in body: inout FlagValue) {
        body.change("h") { hits in
            .array(
                (hits.arrayValue ?? []).flatMap { (hit) -> [FlagValue] in
                    types.contains(hit.objectValue?["t"] ?? .null) ? [hit, hit] : [hit]
                }
            )
        }
    }

    private static let decided: [WireMutant] = [
        WireMutant(
            "overlooks the panic",
            on: "/campaigns",
            caughtBy: "kill-switch/reaches-the-next-read",
            answered: { $0.drop("panic") }
        ),
        WireMutant(
            "overlooks which variation is the reference",
            on: "/campaigns",
            caughtBy: "experiments/control-is-visible",
            answered: { $0.drop("campaigns.*.variation.reference") }
        ),
        WireMutant(
            "reads numbers as texts",
            on: "/campaigns",
            caughtBy: "evaluation/whole-numbers",
            answered: {
                $0.change("campaigns.*.variation.modifications.value.*") { $0.intValue.map { .string("\($0)") } ?? $0 }
            }
        ),
        WireMutant(
            "names the experiment in place of the variation",
            on: "/campaigns",
            caughtBy: "exposures/say-what-was-seen",
            answered: {
                $0.change("campaigns.*") { campaign in
                    var campaign = campaign
                    campaign.set("variation.id", campaign.objectValue?["id"] ?? .null)
                    return campaign
                }
            }
        ),
        WireMutant(
            "takes a failure for an answer without campaigns",
            on: "/campaigns",
            status: 500,
            as: 200,
            body: #"{"visitorId":"ada","campaigns":[]}"#,
            caughtBy: "caching/outlives-a-500"
        ),
        WireMutant(
            "takes a refused key for an answer without campaigns",
            on: "/campaigns",
            status: 401,
            as: 200,
            body: #"{"visitorId":"ada","campaigns":[]}"#,
            caughtBy: "failures/first-answer-is-a-401"
        ),
    ]

    /// Mutants of Flagship's bucketing: the file.
    static let flagshipBucketing: [WireMutant] = [
        WireMutant(
            "overlooks a share",
            on: "bucketing.json",
            caughtBy: "experiments/both-halves-are-used",
            answered: {
                $0.change("campaigns.*.variationGroups.*.variations.*.allocation") { $0 == 50 ? 90 : $0 }
            }
        ),
        WireMutant(
            "reads one operator as another",
            on: "bucketing.json",
            caughtBy: "targeting/not-equal",
            answered: {
                $0.change("campaigns.*.variationGroups.*.targeting.targetingGroups.*.targetings.*.operator") {
                    $0 == "NOT_EQUALS" ? "EQUALS" : $0
                }
            }
        ),
        WireMutant(
            "wants one of two conditions",
            on: "bucketing.json",
            caughtBy: "targeting/all-conditions-together",
            answered: {
                $0.change("campaigns.*.variationGroups.*.targeting.targetingGroups") { groups in
                    let targetings = (groups.arrayValue ?? []).flatMap {
                        $0.objectValue?["targetings"]?.arrayValue ?? []
                    }
                    return .array(targetings.map { ["targetings": [$0]] })
                }
            }
        ),
        WireMutant(
            "skips conditions whose operator it doesn't know",
            on: "bucketing.json",
            caughtBy: "malformed/unknown-beside-known",
            answered: {
                $0.change("campaigns.*.variationGroups.*.targeting.targetingGroups.*.targetings") { conditions in
                    .array((conditions.arrayValue ?? []).filter { $0.objectValue?["operator"] != "RESEMBLES" })
                }
            }
        ),
        WireMutant(
            "overlooks the panic in a file",
            on: "bucketing.json",
            caughtBy: "kill-switch/reaches-the-next-read",
            answered: {
                $0.drop("panic")
            }
        ),
    ]
}
