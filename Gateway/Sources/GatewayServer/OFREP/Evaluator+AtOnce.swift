import Experimentation
import GatewayBodies

/// Evaluations on the calling thread, for when nothing has to be awaited: the rules are there and valid, the user's
/// earlier assignments are in memory, and nothing new has to be stored.
///
/// Everything else goes through ``Evaluator/evaluate(_:_:)`` and ``Evaluator/evaluateAll(_:ifNoneMatch:)``, which
/// return the same answers.
extension Evaluator {
    /// Evaluates one flag.
    ///
    /// - Returns: The answer; `nil` if something has to be awaited, or if it would be an error.
    func evaluateAtOnce(_ key: String, _ request: EvaluationRequest) -> EvaluationAnswer? {
        let user = request.user
        guard !isProvisional, let earlier = earlierAtOnce(of: user),
            let decision = client.decisionAtOnce(of: key, for: user, honoring: earlier),
            let flag = decision.flag, let outcome = decision.outcome,
            let forms = knownForms(of: decision.catalogue)
        else { return nil }
        let assignment = decision.assignment
        if keeps(user), let assignment, !Self.isKept(assignment, in: earlier) { return nil }
        let form = forms.form(ofFlag: flag, outcome: outcome)
        if exposures == .single, !form.isFailure, assignment != nil {
            // While the database is away, or events in the file wait for it, exposures go into the file.
            if meanwhile?.isNeeded == true { return nil }
            // No exposure is recorded if the vendor takes none.
            try? decision.expose(isConsentStated: request.isConsentStated)
        }
        return EvaluationAnswer(form)
    }

    /// Evaluates all flags.
    ///
    /// - Returns: The answer; `nil` if something has to be awaited, or if it would be an error.
    func evaluateAllAtOnce(_ user: User, ifNoneMatch: String?, announced: Int64? = nil) -> EvaluationAnswer? {
        guard !isProvisional, let earlier = earlierAtOnce(of: user),
            let decided = client.decisionsAtOnce(for: user, honoring: earlier), !decided.isStale,
            let forms = knownForms(of: decided.decisions.catalogue)
        else { return nil }
        if keeps(user), !decided.assignments.allSatisfy({ Self.isKept($0, in: earlier) }) { return nil }
        let revision = revision(of: decided)
        // Rules that the client has seen on another instance have to be fetched first.
        if isBehind(revision, ifNoneMatch, announced) { return nil }
        return frame.answer(forms.chosen(by: decided.decisions), ifNoneMatch: ifNoneMatch, at: revision)
    }

    /// Whether a user's assignments are kept.
    func keeps(_ user: User) -> Bool { assignments != nil && mayBeKept(user) }

    /// The user's earlier assignments; `nil` if the store has to be read.
    private func earlierAtOnce(of user: User) -> EarlierAssignments? {
        guard let assignments, mayBeKept(user) else { return EarlierAssignments() }
        return assignments.known(of: user.id)
    }

    /// Whether an assignment needn't be stored, because it already is, or isn't kept at all.
    private static func isKept(_ assignment: Assignment, in earlier: EarlierAssignments) -> Bool {
        assignment.isHoldout || assignment.origin == .forcedHere
            || earlier.variations[assignment.group] == assignment.variation.id
    }
}
