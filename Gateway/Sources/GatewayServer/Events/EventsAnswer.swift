import Experimentation
import GatewayBodies
import HTTPTypes

/// The answer to `POST /v1/events`.
enum EventsAnswer {
    /// Reports the outcome of each event.
    ///
    /// The status is 200 if each event either was accepted or never will be. It is 503 if at least one may be accepted
    /// later. The whole request can then be repeated, because events already accepted are recognized by their ids.
    static func of(_ outcomes: [EventOutcome], to events: [Result<EventRequest, EventRefusal>]) -> Answer {
        var (accepted, repeated, refused, mayPass) = (0, 0, 0, false)
        var results: [FlagValue] = []
        for (outcome, event) in zip(outcomes, events) {
            var members: [String: FlagValue] = [:]
            if case .success(let event) = event { members["id"] = .string(event.id) }
            switch outcome {
            case .accepted:
                accepted += 1
                members["status"] = "accepted"
            case .repeated:
                repeated += 1
                members["status"] = "repeated"
            case .refused(let refusal):
                refused += 1
                mayPass = mayPass || refusal.mayPass
                members["status"] = refusal.mayPass ? "failed" : "refused"
                members["errorCode"] = .string(refusal.code.rawValue)
                members["errorDetails"] = .string(refusal.message)
            }
            results.append(.object(members))
        }
        let document: FlagValue = [
            "accepted": .int(accepted), "repeated": .int(repeated), "refused": .int(refused),
            "events": .array(results),
        ]
        guard mayPass else { return .json(.ok, document) }
        return .json(.serviceUnavailable, document, [.retryAfter: "1"])
    }
}
