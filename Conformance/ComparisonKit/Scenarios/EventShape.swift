import ConformanceKit
import Experimentation
import Foundation

/// The document format of an event type: its fields, for help texts and for rejecting unknown ones.
public struct EventShape: Sendable, Hashable {
    /// A field of an event.
    public struct Field: Sendable, Hashable {
        /// The name.
        public var name: String
        /// A description of its content.
        public var holds: String
        /// Whether it is required.
        public var isRequired: Bool
    }

    /// The event's type, as in `TrackingEvent.type`.
    public var type: String
    /// What the event means, as a phrase.
    public var summary: String
    /// Its own fields; every event also has `attributes`.
    public var fields: [Field]

    /// The shapes of all types, in the order of the documentation.
    public static let all: [EventShape] = [
        shape("custom", "an event that only this application knows", text("name"), number("value", required: false)),
        shape("screenView", "a screen was seen", text("name")),
        shape("pageView", "a page was seen", text("url")),
        shape("goalCompleted", "a goal was reached", text("name")),
        shape("goalAbandoned", "a goal was given up", text("name")),
        shape("viewItem", "an item was seen in passing", item(required: false)),
        shape("viewItemDetail", "an item's own page was seen", item(required: false)),
        shape("viewCategory", "a category was seen", item(required: false)),
        shape("viewTag", "a tag was seen", item(required: false)),
        shape("addToCart", "something was put in the cart", line),
        shape("removeFromCart", "something was taken out of the cart", line),
        shape(
            "replaceCart",
            "the cart is now just these lines",
            Field(name: "lines", holds: "list of {\"item\":…,\"quantity\":n}", isRequired: true)
        ),
        shape(
            "purchase",
            "an order was placed",
            Field(
                name: "order",
                holds: "{\"id\",\"lines\",\"total\",\"currency\",…}",
                isRequired: true
            )
        ),
        shape(
            "review",
            "an item was reviewed",
            item(),
            Field(name: "review", holds: "{\"rating\":1–100,\"title\",\"content\",…}", isRequired: false)
        ),
        shape("share", "an item was shared", item()),
        shape("comment", "an item was commented on", item()),
        shape("favorite", "an item was marked as a favourite", item()),
        shape("installed", "the application was installed"),
        shape("sessionStarted", "a session began"),
        shape("sessionEnded", "a session ended", number("seconds")),
        shape("notificationReceived", "a notification arrived", notification),
        shape("notificationOpened", "a notification was opened", notification),
        shape("campaignImpression", "a campaign was shown", campaign),
        shape("campaignDismissal", "a campaign was dismissed", campaign),
        shape("campaignClick", "a campaign was clicked", campaign),
        shape(
            "exposure",
            "a user saw a variation",
            Field(name: "exposure", holds: "{\"assignment\":…,\"flagKey\",…}", isRequired: true)
        ),
        shape(
            "consentChanged",
            "consent was given or withdrawn",
            Field(name: "granted", holds: "true or false", isRequired: true)
        ),
        shape(
            "native",
            "an event that only one vendor has",
            Field(name: "native", holds: "{\"type\",\"payload\",\"priority\"}", isRequired: true)
        ),
    ]

    /// Returns the shape of a type; `nil` if it is unknown.
    public static func of(_ type: String) -> EventShape? { all.first { $0.type == type } }

    private static func shape(_ type: String, _ summary: String, _ fields: Field...) -> EventShape {
        EventShape(type: type, summary: summary, fields: fields)
    }

    private static func text(_ name: String) -> Field { Field(name: name, holds: "text", isRequired: true) }
    private static func number(_ name: String, required: Bool = true) -> Field {
        Field(name: name, holds: "number", isRequired: required)
    }
    private static func item(required: Bool = true) -> Field {
        Field(name: "item", holds: "{\"id\",\"kind\",\"name\",\"price\",…}", isRequired: required)
    }
    private static let line = Field(name: "line", holds: "{\"item\":…,\"quantity\":n}", isRequired: true)
    private static let notification = Field(
        name: "notification",
        holds: "{\"message\",\"callToAction\",\"payload\"}",
        isRequired: true
    )
    private static let campaign = Field(
        name: "campaign",
        holds: "{\"id\",\"target\",\"experience\",…}",
        isRequired: true
    )
}

extension TrackingEvent {
    /// Parses an event and rejects fields that its type doesn't have.
    ///
    /// - Parameters:
    ///   - value: The event's document.
    ///   - document: The document's name, for errors.
    ///   - path: The event's path in it.
    /// - Throws: An error that names the field and what was expected.
    public init(document value: FlagValue, named document: String, at path: String) throws(DocumentError) {
        var reader = try DocumentReader(value, named: document, at: path)
        let type = try reader.name("type")
        guard let shape = EventShape.of(type) else {
            throw reader.wrong("type", expected: "one of " + TrackingEvent.types.joined(separator: ", "))
        }
        for field in shape.fields {
            if field.isRequired, !reader.has(field.name) { throw reader.wrong(field.name, expected: field.holds) }
            if field.holds == "number", reader.has(field.name) { _ = try reader.optionalDouble(field.name) }
            if field.holds == "text" { _ = try reader.name(field.name) }
            _ = reader.value(field.name)
        }
        _ = try reader.object("attributes")
        try reader.finish()
        try Self.expectWholeNumbers(in: value, named: document, at: path)
        do {
            self = try JSONDecoder().decode(TrackingEvent.self, from: JSONEncoder().encode(value))
        } catch {
            throw Self.explain(error, type: type, value: value, named: document, at: path)
        }
    }

    /// Rejects fractions in counts, since the decoder's error wouldn't name the place.
    private static func expectWholeNumbers(
        in value: FlagValue,
        named document: String,
        at path: String
    ) throws(DocumentError) {
        switch value {
        case .array(let values):
            for (index, value) in values.enumerated() {
                try expectWholeNumbers(in: value, named: document, at: "\(path)[\(index)]")
            }
        case .object(let members):
            for (key, member) in members.sorted(by: { $0.key < $1.key }) where key != "attributes" && key != "payload" {
                let place = "\(path).\(key)"
                if ["quantity", "rating"].contains(key), case .double(let number) = member, member.intValue == nil {
                    let problem = "expected a whole number, found \(number)"
                    throw DocumentError(document: document, path: place, problem: problem)
                }
                try expectWholeNumbers(in: member, named: document, at: place)
            }
        default: return
        }
    }

    private static func explain(
        _ error: any Error,
        type: String,
        value: FlagValue,
        named document: String,
        at path: String
    ) -> DocumentError {
        func problem(_ keys: [any CodingKey], _ expected: String) -> DocumentError {
            var place = path
            var found: FlagValue? = value
            for key in keys {
                if let index = key.intValue {
                    place += "[\(index)]"
                    found = found?.arrayValue.flatMap { $0.indices.contains(index) ? $0[index] : nil }
                } else {
                    place += ".\(key.stringValue)"
                    found = found?.objectValue?[key.stringValue]
                }
            }
            let seen = found.map { DocumentReader.described($0) } ?? "nothing"
            return DocumentError(document: document, path: place, problem: "expected \(expected), found \(seen)")
        }
        switch error {
        case DecodingError.keyNotFound(let key, let context): return problem(context.codingPath + [key], "a value")
        case DecodingError.typeMismatch(let wanted, let context): return problem(context.codingPath, words(for: wanted))
        case DecodingError.valueNotFound(let wanted, let context):
            return problem(context.codingPath, words(for: wanted))
        case DecodingError.dataCorrupted(let context):
            return problem(context.codingPath, "what an event of type \(type) has there")
        default: return DocumentError(document: document, path: path, problem: "expected an event of type \(type)")
        }
    }

    private static func words(for type: Any.Type) -> String {
        switch type {
        case is Double.Type, is Float.Type, is Decimal.Type: "a number"
        case is any FixedWidthInteger.Type: "a whole number"
        case is String.Type: "a text"
        case is Bool.Type: "true or false"
        case is [Any].Type: "a list"
        default: "an object"
        }
    }
}
