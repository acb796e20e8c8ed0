import Experimentation
import HTTPTypes

/// What `POST /v1/events` answers.
enum EventsAnswer {
    /// Says what became of each event.
    ///
    /// 200 once every event is accepted or never will be. 503 as soon as one may pass later: the whole request can be sent
    /// again, because what was accepted is told by its id.
    static func of(_ outcomes: [EventIntake.Outcome], to events: [Result<EventRequest, EventRefusal>]) -> Answer {
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
