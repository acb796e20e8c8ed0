import AdapterKit
import Experimentation

/// Mutants of Engage: behaviors, and the calls that link recipients.
extension WireMutant {
    static let engage: [WireMutant] =
        behaviors + [
            WireMutant(
                "takes a failure for a submission",
                on: submission,
                status: 500,
                as: 202,
                body: "{}",
                caughtBy: "outages/not-delivered-by-a-500"
            ),
            WireMutant(
                "takes a redirect for a submission",
                on: submission,
                status: 302,
                as: 202,
                body: "{}",
                caughtBy: "outages/not-delivered-by-a-redirect"
            ),
            WireMutant(
                "takes a batch that is too large for one that is refused",
                on: submission,
                status: 413,
                as: 400,
                caughtBy: "outages/too-large-by-itself"
            ),
            WireMutant(
                "overlooks that its token has expired",
                on: submission,
                status: 401,
                as: 503,
                caughtBy: "outages/credentials-expire-in-the-middle"
            ),
            .deafToRetryAfter(on: submission),
            WireMutant(
                "names a recipient by another element",
                caughtBy: "identity/link",
                send: { sent in
                    if sent.isCall("UpdateRecipient") { sent.replace("RECIPIENT_ID", "RECIPIENT") }
                }
            ),
            WireMutant(
                "adds a recipient without its mobile user id",
                caughtBy: "identity/link",
                send: { sent in
                    if sent.isCall("AddRecipient") { sent.replace("guest-", "nobody-") }
                }
            ),
            WireMutant(
                "calls a call by another name",
                caughtBy: "identity/link",
                send: { sent in
                    if sent.isCall("UpdateRecipient") { sent.replace("UpdateRecipient", "UpdateRecipients") }
                }
            ),
            WireMutant(
                "takes a fault for a success",
                caughtBy: "identity/link",
                answer: { sent, reply in
                    if sent.isCall("SelectRecipientData"), reply.text.contains("<Fault>") {
                        reply.body = Array(success.utf8)
                    }
                }
            ),
        ]

    private static let success = "<Envelope><Body><RESULT><SUCCESS>TRUE</SUCCESS></RESULT></Body></Envelope>"
    private static let submission = "/rest/events/submission"

    private static let behaviors: [WireMutant] = [
        sent("calls an event by another type's code", "events/custom") { $0.set("events.*.eventTypeCode", "16") },
        sent("swaps the codes of goals", "events/goalCompleted") {
            $0.change("events.*.eventTypeCode") { $0 == "16" ? "15" : $0 }
        },
        sent("writes times an hour late", "delivery/original-time") {
            $0.change("events.*.eventTimestamp") { shifted($0) }
        },
        sent("leaves out when it happened", "delivery/original-time") { $0.drop("events.*.eventTimestamp") },
        sent("calls an event's name otherwise", "delivery/one-event") { rename(&$0, "Event Name", "Name") },
        sent("leaves out an event's value", "events/custom") { leaveOut(&$0, "Value") },
        sent("leaves out what an application adds", "events/attributes-of-an-event") { leaveOut(&$0, "colour") },
        sent("writes numbers that an application adds as others", "events/attributes-of-an-event") {
            write(&$0, "size") { _ in "3.5" }
        },
        sent("writes Booleans that an application adds as numbers", "events/attributes-of-every-type") {
            write(&$0, "gift") { _ in "1" }
        },
        sent("cuts off fractions that an application adds", "events/attributes-of-every-type") {
            write(&$0, "weight") { _ in "17" }
        },
        sent("leaves out whose it is", "delivery/whose-it-is") { leaveOut(&$0, "Primary User Id") },
        sent("leaves out an attribute of every behaviour", "delivery/one-event") { leaveOut(&$0, "Device Id") },
        sent("names a contact of nobody", "delivery/one-event") { value in
            value.change("events.*") { behavior in
                guard case .object(var members) = behavior else { return behavior }
                members["contactId"] = "nobody"
                return .object(members)
            }
        },
        sent("leaves out the anonymous id", "identity/both-ids-travel") { leaveOut(&$0, "Anonymous Id") },
        sent("swaps the two ids", "identity/both-ids-travel") {
            rename(&$0, "Primary User Id", "-")
            rename(&$0, "Anonymous Id", "Primary User Id")
            rename(&$0, "-", "Anonymous Id")
        },
        sent("writes a session's length in minutes", "events/sessionEnded") {
            write(&$0, "Session Duration") { "\((Int($0) ?? 0) / 60)" }
        },
        sent("keeps of a text what is ASCII", "events/odd-texts") {
            write(&$0, "Event Name") { String($0.filter(\.isASCII)) }
        },
        sent("sends behaviours backwards", "delivery/in-order") {
            $0.change("events") { .array(($0.arrayValue ?? []).reversed()) }
        },
        sent("sends the first of a batch alone", "delivery/several-in-one-request") {
            $0.change("events") { .array(Array(($0.arrayValue ?? []).prefix(1))) }
        },
        sent("sends each behaviour twice", "delivery/one-event") {
            $0.change("events") { .array(($0.arrayValue ?? []).flatMap { [$0, $0] }) }
        },
    ]

    private static func sent(
        _ name: String,
        _ caughtBy: String,
        _ change: @escaping @Sendable (inout FlagValue) -> Void
    ) -> WireMutant {
        WireMutant(name, on: submission, caughtBy: caughtBy, sent: change)
    }

    private static func rename(_ value: inout FlagValue, _ name: String, _ other: String) {
        value.change("events.*.attributes.*.name") { $0.stringValue == name ? .string(other) : $0 }
    }

    private static func leaveOut(_ value: inout FlagValue, _ name: String) {
        value.change("events.*.attributes.*") { $0.objectValue?["name"]?.stringValue == name ? nil : $0 }
    }

    private static func write(
        _ value: inout FlagValue,
        _ name: String,
        _ text: @escaping (String) -> String
    ) {
        value.change("events.*.attributes.*") { attribute in
            guard attribute.objectValue?["name"]?.stringValue == name else { return attribute }
            var attribute = attribute
            attribute.change("value") { .string(text($0.stringValue ?? "")) }
            return attribute
        }
    }

    /// Moves a time by one hour.
    private static func shifted(_ value: FlagValue) -> FlagValue {
        guard let text = value.stringValue, let mark = text.firstIndex(of: "T"),
            let hour = Int(text[text.index(after: mark)...].prefix(2))
        else { return value }
        let other = "\((hour + 1) % 24 + 100)".suffix(2)
        let rest = text[mark...].dropFirst(3)
        return .string("\(text[..<mark])T\(other)\(rest)")
    }
}

extension WireMutant.Sent {
    /// Whether it is a call of the XML API with this name.
    fileprivate func isCall(_ name: String) -> Bool {
        path.hasSuffix("/XMLAPI") && String(decoding: body, as: UTF8.self).contains(name)
    }
}
