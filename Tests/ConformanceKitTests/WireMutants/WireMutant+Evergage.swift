import AdapterKit
import Experimentation
import HTTPTypes

/// Mutants of Evergage: one event per request, and campaigns in the answer.
extension WireMutant {
    static let evergage: [WireMutant] = [
        sent("sends everything as one user's", "delivery/whose-it-is") { $0.set("user.id", "somebody") },
        sent("leaves out the anonymous id", "identity/both-ids-travel") { $0.drop("user.anonId") },
        sent("swaps the two ids", "identity/both-ids-travel") { $0.swap("user", "id", "anonId") },
        sent("calls every action the same", "delivery/one-event") {
            $0.change("action") { $0.stringValue?.hasPrefix("mark") == true ? "Action" : $0 }
        },
        sent("writes times in seconds", "delivery/original-time") {
            $0.change("source.time") { .int(($0.intValue ?? 0) / 1_000) }
        },
        sent("leaves out when it happened", "delivery/original-time") { $0.drop("source.time") },
        sent("gives an order another id", "events/purchase") { $0.set("order.Product.orderId", "order") },
        sent("leaves out an order's lines", "events/purchase") { $0.drop("order.Product.lineItems") },
        sent("keeps an order's first line", "events/purchase") {
            $0.change("order.Product.lineItems") { .array(Array(($0.arrayValue ?? []).prefix(1))) }
        },
        sent("leaves out what is done with an item", "events/viewItem") {
            $0.drop("itemAction")
            $0.set("action", "Something")
        },
        sent("calls an item otherwise", "events/viewItem") { $0.rename("catalog.Product", "_id", "id") },
        sent("takes one way to view an item for the other", "events/viewItemDetail") {
            $0.change("itemAction") { $0 == "View Item Detail" ? "View Item" : $0 }
            $0.change("action") { $0 == "View Item Detail" ? "View Item" : $0 }
        },
        sent("adds another item to the cart", "events/addToCart") { $0.set("cart.singleLine.Product._id", "another") },
        sent("keeps a cart's first line", "events/replaceCart") {
            $0.change("cart.complete.Product") { .array(Array(($0.arrayValue ?? []).prefix(1))) }
        },
        sent("tells of a dismissal as of a click", "campaigns/impression-reaches-the-vendor") {
            $0.change("campaignStats.*.stat") { $0 == "Dismissal" ? "Clickthrough" : $0 }
        },
        sent("names the campaign in place of the experience", "campaigns/impression-reaches-the-vendor") {
            $0.set("campaignStats.*.experienceId", "spring")
        },
        WireMutant(
            "makes a new id for every attempt",
            caughtBy: "delivery/repetition-has-the-same-id",
            send: { sent in
                if let name = HTTPField.Name("X-Event-Id"), sent.request.headerFields[name] != nil {
                    sent.request.headerFields[name] = "id-\(UInt64.random(in: .min ... .max))"
                }
            }
        ),
        WireMutant(
            "gives all events one id",
            caughtBy: "delivery/ids-differ",
            send: { sent in
                if let name = HTTPField.Name("X-Event-Id"), sent.request.headerFields[name] != nil {
                    sent.request.headerFields[name] = "the-id"
                }
            }
        ),
        answered("overlooks the control group", "campaigns/control-group") {
            $0.set("campaignResponses.*.userGroup", "Default")
        },
        answered("overlooks campaigns", "campaigns/answer-an-event") { $0.set("campaignResponses", []) },
        answered("overlooks what a campaign shows", "campaigns/answer-an-event") {
            $0.set("campaignResponses.*.serverSideMessages.*.dataMap", [:])
            $0.set("campaignResponses.*.serverSideMessages.*.data", "{}")
        },
        answered("overlooks what a campaign promotes", "campaigns/answer-an-event") {
            $0.set("campaignResponses.*.serverSideMessages.*.promotedItemKeys", [])
        },
        answered("takes the campaign for the experience", "campaigns/answer-an-event") {
            $0.set("campaignResponses.*.experienceId", "spring")
        },
        answered("calls a campaign by its id", "campaigns/answer-an-event") {
            $0.set("campaignResponses.*.campaignName", "spring")
        },
        answered("overlooks a failure with status 200", "outages/not-delivered-by-a-failure-with-200") {
            $0.set("errorCode", 0)
        },
        WireMutant(
            "takes a failure for a success",
            on: "/engage",
            status: 500,
            as: 200,
            body: #"{"campaignResponses":[],"errorCode":0}"#,
            caughtBy: "outages/not-delivered-by-a-500"
        ),
        WireMutant(
            "takes a redirect for a success",
            on: "/engage",
            status: 302,
            as: 200,
            body: #"{"campaignResponses":[],"errorCode":0}"#,
            caughtBy: "outages/not-delivered-by-a-redirect"
        ),
        .deafToRetryAfter(on: "/engage"),
    ]

    private static func sent(
        _ name: String,
        _ caughtBy: String,
        _ change: @escaping @Sendable (inout FlagValue) -> Void
    ) -> WireMutant {
        WireMutant(name, on: "/engage", caughtBy: caughtBy, sent: change)
    }

    private static func answered(
        _ name: String,
        _ caughtBy: String,
        _ change: @escaping @Sendable (inout FlagValue) -> Void
    ) -> WireMutant {
        WireMutant(name, on: "/engage", caughtBy: caughtBy, answered: change)
    }
}
