import Experimentation
import Foundation

/// The form of events in files and webhooks: the one that `xp track` reads, in `docs/schemas/event.schema.json`.
package enum EventForm {
    /// Returns an event as a JSON object; its id is the same in every repetition.
    package static func value(of envelope: Envelope) throws(ExperimentationError) -> FlagValue {
        var user: [String: FlagValue] = ["id": .string(envelope.identity.id)]
        if let anonymousID = envelope.identity.anonymousID { user["anonymousId"] = .string(anonymousID) }
        if envelope.identity.isAuthenticated { user["authenticated"] = true }
        if !envelope.attributeChanges.isEmpty { user["attributes"] = .object(envelope.attributeChanges.values) }
        var members: [String: FlagValue] = [
            "id": .string(envelope.id), "user": .object(user), "event": try value(of: envelope.event),
            "at": .string(envelope.date.iso8601Milliseconds),
        ]
        if !envelope.session.isEmpty { members["session"] = .string(envelope.session) }
        if let surface = envelope.surface { members["surface"] = .string(surface) }
        if let targets = envelope.campaignTargets { members["campaignTargets"] = .array(targets.map(FlagValue.string)) }
        return .object(members)
    }

    private static func value(of event: TrackingEvent) throws(ExperimentationError) -> FlagValue {
        guard let encoded = try? JSONEncoder().encode(event) else {
            throw ExperimentationError(.invalidArgument, "an event of the type \"\(event.type)\" can't be written")
        }
        return try JSON.parse(encoded)
    }
}
