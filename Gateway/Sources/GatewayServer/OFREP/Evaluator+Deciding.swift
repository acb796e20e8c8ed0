import Experimentation
import GatewayBodies
import HTTPTypes

/// What decides an evaluation: the vendor's rules or answer, and the user's earlier assignments.
extension Evaluator {
    /// The decisions for a user; `nil` while the kill switch is on.
    func decide(for user: User) async throws(ProtocolError) -> UserDecisions? {
        guard let assignments, mayBeKept(user), !user.id.isEmpty else { return try await decide(for: user, [:]) }
        let earlier = await assignments.earlier(of: user.id)
        guard let decided = try await decide(for: user, earlier.assignments) else { return nil }
        let made = EarlierAssignments(decided.assignments)
        let kept = await assignments.keep(made, beside: earlier, of: user.id)
        // If another instance stored an assignment first, that one is used.
        let isOther = made.variations.contains { kept.variations[$0.key] != $0.value }
        return isOther ? try await decide(for: user, kept) : decided
    }

    /// Whether a user's assignments may be stored.
    func mayBeKept(_ user: User) -> Bool {
        user.consent == .granted || user.consent == .unknown && !facts.needsConsent
    }

    private func decide(for user: User, _ earlier: EarlierAssignments) async throws(ProtocolError) -> UserDecisions? {
        // Nothing waits for rules that are fetched at an interval anyway, and unconfirmed rules don't count as fresh.
        if client.status == .stale, facts.isPolling, let old = client.decisionsAtHand(for: user, honoring: earlier) {
            return old
        }
        do throws(ExperimentationError) {
            let decided = try await decideSoon(for: user, earlier)
            if client.status == .disabled { return nil }
            // A provisional tenant has only the vendor's answer, which the shared store hasn't confirmed, so it counts
            // as stale.
            if let decided, !isProvisional { return decided }
            if let old = client.decisionsAtHand(for: user, honoring: earlier) ?? decided { return old }
            return try await client.decisions(for: user, honoring: earlier)
        } catch {
            if client.status == .disabled { return nil }
            // An error in the request itself must not be answered with older decisions.
            let failure = ProtocolError(error, isAboutUser: !facts.isComputed)
            if failure.status == .serviceUnavailable, let old = client.decisionsAtHand(for: user, honoring: earlier) {
                return old
            }
            throw failure
        }
    }

    /// The current decisions; `nil` if there are older rules and no new ones arrive soon.
    private func decideSoon(
        for user: User,
        _ earlier: EarlierAssignments
    ) async throws(ExperimentationError) -> UserDecisions? {
        guard facts.isComputed, client.rulesAge != nil else {
            return try await client.decisions(for: user, honoring: earlier)
        }
        if let decided = client.decisionsAtOnce(for: user, honoring: earlier) { return decided }
        let outcome = await wait.value { [client] () -> Result<UserDecisions, ExperimentationError> in
            do throws(ExperimentationError) {
                return .success(try await client.decisions(for: user, honoring: earlier))
            } catch {
                return .failure(error)
            }
        }
        return try outcome?.get()
    }
}
