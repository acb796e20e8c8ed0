import Experimentation
import HTTPTypes
import NIOCore

/// Answers to requests that repeat an earlier one byte for byte.
extension Evaluator {
    /// Answers 304 without evaluating anything, if the client already has the current answer.
    ///
    /// - Parameters:
    ///   - body: The request's body.
    ///   - ifNoneMatch: Its `If-None-Match` field.
    ///   - announced: The revision that the client was told.
    /// - Returns: The answer; `nil` if what is remembered doesn't tell whether the client has it.
    func unchangedAtOnce(_ body: ByteBuffer, ifNoneMatch: String, announced: Int64? = nil) -> EvaluationAnswer? {
        guard !isProvisional, let entry = remembered[body],
            entry.tag == ifNoneMatch
                || EntityTag.isNamed(entry.tag, in: ifNoneMatch)
                    && !isBehind(EntityTag.revision(in: entry.tag), ifNoneMatch),
            announced == nil || !isBehind(EntityTag.revision(in: entry.tag), nil, announced),
            client.isCurrent(entry.basis),
            knownForms(of: entry.forms.catalogue) === entry.forms
        else { return nil }
        if let userID = entry.userID, assignments?.known(of: userID) != entry.earlier { return nil }
        return EvaluationAnswer(.notModified, tag: entry.tag)
    }

    /// Evaluates all flags, and remembers the tag of the answer.
    ///
    /// - Parameters:
    ///   - user: The user that the body describes.
    ///   - body: The request's body.
    ///   - ifNoneMatch: Its `If-None-Match` field.
    ///   - announced: The revision that the client was told.
    /// - Returns: The answer; `nil` if something has to be awaited, or if it would be an error.
    func evaluateAllAtOnce(
        _ user: User,
        _ body: ByteBuffer,
        ifNoneMatch: String?,
        announced: Int64? = nil
    ) -> EvaluationAnswer? {
        guard let basis = client.basisAtOnce(), let forms = knownForms else {
            return evaluateAllAtOnce(user, ifNoneMatch: ifNoneMatch, announced: announced)
        }
        let userID = keeps(user) ? user.id : nil
        let earlier = userID.map { assignments?.known(of: $0) }
        let answer = evaluateAllAtOnce(user, ifNoneMatch: ifNoneMatch, announced: announced)
        // A change during the evaluation may or may not be part of the answer.
        guard let tag = answer?.tag, client.isCurrent(basis), knownForms(of: forms.catalogue) === forms,
            userID.map({ assignments?.known(of: $0) }) == earlier
        else { return answer }
        remembered.remember(
            RememberedTags.Entry(
                tag: tag,
                basis: basis,
                forms: forms,
                userID: userID,
                earlier: earlier.flatMap { $0 } ?? EarlierAssignments()
            ),
            of: body
        )
        return answer
    }
}
