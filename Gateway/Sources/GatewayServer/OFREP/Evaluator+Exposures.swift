import Experimentation
import Foundation
import GatewayBodies

/// The exposures that single evaluations record.
extension Evaluator {
    /// Records that the user of a request saw the variation behind a flag's value, if there is one.
    func expose(_ key: String, _ decided: UserDecisions, _ request: EvaluationRequest) async {
        let catalogue = decided.decisions.catalogue
        // Without a file, exposures would be lost, or several instances would record them.
        if isProvisional, meanwhile == nil { return }
        guard let place = decided[key]?.assignment, catalogue.assignments.indices.contains(place) else { return }
        let (assignment, isStated) = (catalogue.assignments[place], request.isConsentStated)
        if let meanwhile, isProvisional || meanwhile.isNeeded {
            guard client.supports(.exposures), decided.user.consent != .denied else { return }
            return await meanwhile.take(Exposure(assignment: assignment), of: decided.user, isConsentStated: isStated)
        }
        // No exposure is recorded if the vendor takes none; the client logs that once.
        try? decided.expose(assignment.experiment.id, isConsentStated: isStated)
    }
}
