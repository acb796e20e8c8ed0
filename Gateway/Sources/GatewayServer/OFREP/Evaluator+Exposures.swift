import Experimentation
import Foundation
import GatewayBodies

/// The exposures that single evaluations record.
extension Evaluator {
    /// Records that the user of a request saw the variation behind a flag's value, if there is one.
    func expose(_ key: String, _ decided: UserDecisions, _ request: EvaluationRequest) async {
        let catalogue = decided.decisions.catalogue
        // Without a file, exposures would be lost or recorded by several instances.
        if isProvisional, meanwhile == nil { return }
        guard let place = decided[key]?.assignment, catalogue.assignments.indices.contains(place) else { return }
        let (assignment, isStated) = (catalogue.assignments[place], request.isConsentStated)
        if let meanwhile, isProvisional || meanwhile.isNeeded {
            guard client.supports(.exposures), decided.user.consent != .denied else { return }
            return await meanwhile.take(Exposure(assignment: assignment), of: decided.user, isConsentStated: isStated)
        }
        // A vendor that takes no exposures has none recorded; the client says so in its log, once.
        try? decided.expose(assignment.experiment.id, isConsentStated: isStated)
    }
}
