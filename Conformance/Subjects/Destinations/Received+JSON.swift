import AdapterKit
import ConformanceKit
import Experimentation
import Foundation

extension Received {
    /// Reads an event as the neutral destinations write it, by `docs/schemas/event.schema.json`.
    ///
    /// - Parameters:
    ///   - json: The event's JSON.
    ///   - exchange: The number of the exchange that carried it.
    /// - Throws: `ErrorCode.parseError` for what isn't JSON.
    init(json: String, exchange: Int) throws {
        let whole = try JSON.parse(json).objectValue ?? [:]
        let user = whole["user"]?.objectValue ?? [:]
        let event = whole["event"]?.objectValue ?? [:]
        self.init(
            type: event["type"]?.stringValue ?? "unknown",
            userID: user["id"]?.stringValue,
            anonymousID: user["anonymousId"]?.stringValue,
            name: (event["name"] ?? event["url"])?.stringValue ?? event["native"]?.objectValue?["type"]?.stringValue,
            value: (event["value"] ?? event["seconds"])?.doubleValue,
            attributes: event["attributes"]?.objectValue ?? [:],
            items: Self.items(of: event),
            isGranted: event["granted"]?.boolValue,
            campaign: event["campaign"]?.objectValue?["id"]?.stringValue,
            eventID: whole["id"]?.stringValue,
            exchange: exchange
        )
        let assignment = event["exposure"]?.objectValue?["assignment"]?.objectValue
        experiment = assignment?["experiment"]?.objectValue?["id"]?.stringValue
        variation = assignment?["variation"]?.objectValue?["id"]?.stringValue
        if let order = event["order"]?.objectValue {
            orderID = order["id"]?.stringValue
            value = order["total"]?.doubleValue
        }
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        date = whole["at"]?.stringValue.flatMap { try? format.parse($0) }
    }

    private static func items(of event: [String: FlagValue]) -> [String] {
        let lines = event["lines"]?.arrayValue ?? event["order"]?.objectValue?["lines"]?.arrayValue ?? []
        let items = (lines + [event["line"]].compactMap { $0 }).map { $0.objectValue?["item"] } + [event["item"]]
        return items.compactMap { $0?.objectValue?["id"]?.stringValue }
    }
}
