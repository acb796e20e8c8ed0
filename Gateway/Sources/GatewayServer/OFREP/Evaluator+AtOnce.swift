import Experimentation
import GatewayBodies

/// Evaluations on the calling thread, where nothing has to be awaited: the rules are there and valid, what the user was
/// assigned before is in memory, and nothing new has to be written down.
///
/// Everything else takes the way over ``Evaluator/evaluate(_:_:)`` and ``Evaluator/evaluateAll(_:ifNoneMatch:)``, which
/// answer the same.
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
            // While the database is away, or the file waits for it, exposures go into the file.
            if meanwhile?.isNeeded == true { return nil }
            // A vendor that takes no exposures has none recorded.
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
        // What the client has seen elsewhere has to be fetched first.
        if isBehind(revision, ifNoneMatch, announced) { return nil }
        return frame.answer(forms.chosen(by: decided.decisions), ifNoneMatch: ifNoneMatch, at: revision)
    }

    /// Whether assignments of a user are kept.
    func keeps(_ user: User) -> Bool { assignments != nil && mayBeKept(user) }

    /// What a user was assigned before; `nil` if the store has to be asked.
    private func earlierAtOnce(of user: User) -> EarlierAssignments? {
        guard let assignments, mayBeKept(user) else { return EarlierAssignments() }
        return assignments.known(of: user.id)
    }

    /// Whether an assignment needs no writing down: it is there, or isn't kept at all.
    private static func isKept(_ assignment: Assignment, in earlier: EarlierAssignments) -> Bool {
        assignment.isHoldout || assignment.origin == .forcedHere
            || earlier.variations[assignment.group] == assignment.variation.id
    }
}
