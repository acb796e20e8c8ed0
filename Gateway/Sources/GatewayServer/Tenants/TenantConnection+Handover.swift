import Experimentation
import GatewayBodies

extension TenantConnection {
    /// Hands over what was accepted while the database was away.
    static func hand(_ parcels: [Parcel], to intake: EventIntake, and book: AssignmentBook) async -> [Verdict] {
        var verdicts = [Verdict](repeating: .outage(), count: parcels.count)
        var events: [(place: Int, event: EventRequest)] = []
        for (place, parcel) in parcels.enumerated() {
            switch parcel {
            case .event(let event): events.append((place, event))
            case .assignments(let record):
                if (try? await book.write(record)) != nil { verdicts[place] = .delivered }
            }
        }
        let outcomes = events.isEmpty ? [] : await intake.carryOut(events.map { .success($0.event) })
        for ((place, _), outcome) in zip(events, outcomes) {
            switch outcome {
            case .accepted, .repeated: verdicts[place] = .delivered
            case .refused(let refusal): verdicts[place] = refusal.mayPass ? .outage() : .rejected(refusal.code.rawValue)
            }
        }
        return verdicts
    }
}
