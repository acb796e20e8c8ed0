import AdapterKit
import ComparisonKit
import ConformanceKit
import Experimentation
import Foundation
import HTTPTypes

/// One event of a request: what happened, to whom, and the id by which a repetition is recognized.
package struct EventRequest: Sendable, Codable {
    package let id: String
    package let user: User
    /// Whether the request stated the consent; otherwise it is the tenant's default, which no user has stated.
    package let isConsentStated: Bool
    package let event: TrackingEvent
    package var date: Date?

    private static let longestID = 200

    /// Creates a request that originates in this process.
    package init(id: String, user: User, isConsentStated: Bool, event: TrackingEvent, date: Date?) {
        (self.id, self.user, self.event, self.date) = (id, user, event, date)
        self.isConsentStated = isConsentStated
    }

    /// Decodes an encoded request, including those of versions that treated every consent as stated.
    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        id = try members.decode(String.self, forKey: .id)
        user = try members.decode(User.self, forKey: .user)
        isConsentStated = try members.decodeIfPresent(Bool.self, forKey: .isConsentStated) ?? true
        event = try members.decode(TrackingEvent.self, forKey: .event)
        date = try members.decodeIfPresent(Date.self, forKey: .date)
    }

    /// Reads an event by the schema `docs/schemas/gateway-events.schema.json`.
    ///
    /// - Parameters:
    ///   - value: The event.
    ///   - path: Its path in the body.
    ///   - consent: The consent of a user for whom none is stated.
    /// - Throws: An error that names the member and what was expected.
    package init(_ value: FlagValue, at path: String, consent: Consent) throws(DocumentError) {
        var reader = try DocumentReader(value, named: "the body", at: path)
        id = try reader.name("id")
        guard id.utf8.count <= Self.longestID else {
            throw reader.wrong("id", expected: "at most \(Self.longestID) bytes")
        }
        guard reader.has("user") else { throw reader.wrong("user", expected: "an object with an \"id\"") }
        var nested = try reader.reader("user")
        isConsentStated = nested.has("consent")
        var user = try User(reading: &nested)
        try nested.finish()
        if !isConsentStated { user.consent = consent }
        self.user = user
        guard reader.has("event") else { throw reader.wrong("event", expected: "an object with a \"type\"") }
        event = try TrackingEvent(
            document: reader.value("event"),
            named: reader.document,
            at: path.isEmpty ? "event" : "\(path).event"
        )
        date = try reader.optionalTime("at")
        try reader.finish()
    }
}

/// The body of `POST /v1/events`: one event, or several under `events`.
package struct EventsRequest: Sendable {
    /// The events in the body's order, each parsed or refused.
    package let events: [Result<EventRequest, EventRefusal>]

    /// The maximum number of events in a request.
    package static let most = 1_000

    /// Parses a body.
    ///
    /// An invalid event doesn't affect the others.
    ///
    /// - Throws: ``ProtocolError/Code/parseError`` when the body can't be parsed at all.
    package init(body: [UInt8], consent: Consent) throws(ProtocolError) {
        let document: FlagValue
        do throws(ExperimentationError) { document = try JSON.parse(body) } catch {
            throw ProtocolError(.parseError, "The body: \(error.message)")
        }
        guard case .object(let members) = document else {
            throw ProtocolError(.parseError, "The body: expected an event, or an object with \"events\".")
        }
        guard let list = members["events"] else {
            events = [Self.read(document, at: "", consent)]
            return
        }
        guard case .array(let values) = list, members.count == 1 else {
            throw ProtocolError(.parseError, "events: expected a list, and nothing beside it.")
        }
        guard values.count <= Self.most else {
            throw ProtocolError(.parseError, "events: expected at most \(Self.most).", status: .contentTooLarge)
        }
        events = values.enumerated().map { Self.read($1, at: "events[\($0)]", consent) }
    }

    private static func read(
        _ value: FlagValue,
        at path: String,
        _ consent: Consent
    ) -> Result<EventRequest, EventRefusal> {
        do throws(DocumentError) { return .success(try EventRequest(value, at: path, consent: consent)) } catch {
            return .failure(EventRefusal(.invalidArgument, error.description))
        }
    }
}

/// Why an event is refused.
package struct EventRefusal: Error, Sendable, Equatable {
    package let code: ErrorCode
    package let message: String

    package init(_ code: ErrorCode, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Whether the unchanged event may be accepted later.
    package var mayPass: Bool { code == .outboxFull || isOpen }

    /// Whether the event may have been accepted despite the error, so that it has to be looked for before it is
    /// accepted.
    package var isOpen: Bool { [.store, .shutDown, .cancelled, .timeout].contains(code) }
}
