import Experimentation

/// Creates a recipient for this installation, and merges it with the recipient of a user who signs in.
///
/// Calls run one after the other. The next call, and the next start of the provider, resume an interrupted merge (by a
/// fault, a lost connection or the end of the process) at the step it had reached.
public struct MobileIdentity: Sendable {
    /// The result of ``setupRecipient()``.
    public struct SetupResult: Sendable, Hashable {
        /// The recipient's id.
        public var recipientID: String
        /// The mobile user id.
        public var mobileUserID: String
    }

    /// The result of ``checkIdentity(_:)``.
    public struct CheckResult: Sendable, Equatable {
        /// The recipient from now on.
        public var recipientID: String
        /// The recipient that was merged into it; `nil` if none was.
        public var mergedRecipientID: String?
        /// The mobile user id from now on.
        public var mobileUserID: String
        /// Why the row in the audit table isn't written yet, if it isn't: the merge itself is done, and the row follows
        /// with the next call or start.
        public var pendingAudit: ExperimentationError?
    }

    let execution: MergeExecution
    /// Admits one change of recipients at a time.
    let turn: AsyncSemaphore

    private var profile: EngageProfile { execution.profile }
    private var environment: ClientEnvironment { execution.environment }
    private var configuration: EngageConfiguration { execution.client.connection.configuration }
    private var setup: RecipientSetup {
        RecipientSetup(client: execution.client, profile: profile, environment: environment)
    }

    /// Ensures that this installation has a mobile user id and a recipient with it.
    ///
    /// Nothing is sent if both are known and the vendor has them. If allowed, a missing mobile user id is generated,
    /// and stored before it is sent. After a lost answer, a search for the recipient comes before adding another one.
    ///
    /// - Throws: `ErrorCode.configuration` without a list, without a column's name, or without a mobile user id if
    ///   none may be generated; `ErrorCode.consentDenied` if the user denied consent, in this run or an earlier one
    ///   (``EngageProfile/grantConsent()`` ends that); what the XML interface throws.
    @discardableResult
    public func setupRecipient() async throws(ExperimentationError) -> SetupResult {
        try await turn.take()
        defer { turn.leave() }
        let done = try await setup.complete()
        return SetupResult(recipientID: done.recipientID, mobileUserID: done.mobileUserID)
    }

    /// Ensures, without using the network, that this installation has a mobile user id, so that sessions can begin with
    /// it at once.
    ///
    /// The recipient is added, or a known one receives the new id, before the first behaviors of this id are posted,
    /// unless ``setupRecipient()`` does so earlier.
    ///
    /// - Returns: The mobile user id.
    /// - Throws: `ErrorCode.configuration` and `ErrorCode.consentDenied` as ``setupRecipient()``; `ErrorCode.store`.
    @discardableResult
    public func prepareRecipient() async throws(ExperimentationError) -> String {
        try await turn.take()
        defer { turn.leave() }
        return try await setup.prepare()
    }

    /// Finds the recipient that has all of these values, and uses it from now on.
    ///
    /// If no recipient has them, they are written to this installation's own. Otherwise the two are merged:
    /// the ids change, and the abandoned recipient is marked. Nothing else is copied.
    ///
    /// - Parameter fields: Columns and values, such as `["facebook_id": "100"]`; not empty.
    /// - Returns: The ids from now on.
    /// - Throws: As ``setupRecipient()``; `ErrorCode.invalidArgument` without fields, or if
    ///   ``EngageProfile/storeMobileUserID(_:)`` names another user before the merge begins; for a failed step, its
    ///   error with a ``MergeInterruption`` as the cause. The ids are then unchanged, or have changed together.
    @discardableResult
    public func checkIdentity(_ fields: [String: String]) async throws(ExperimentationError) -> CheckResult {
        try await check(fields, profile.watches.watch([.ownUser]))
    }

    private func check(
        _ fields: [String: String],
        _ own: UserWatch
    ) async throws(ExperimentationError) -> CheckResult {
        guard !fields.isEmpty, !fields.keys.contains("") else {
            throw ExperimentationError(.invalidArgument, "checkIdentity needs at least one column and its value")
        }
        try configuration.validateMerging()
        try await turn.take()
        defer { turn.leave() }
        try await profile.load()
        if profile.isConsentDenied { throw EngageErrors.denied }
        try requireSameUser(own)
        do throws(ExperimentationError) {
            try await finishPending()
        } catch {
            // An earlier merge that the vendor refuses permanently doesn't affect this one.
            guard (error.cause as? MergeInterruption)?.isResumable == false else { throw error }
            environment.log.log(.warning, "engage.merge", "an earlier merge was given up: \(error.message)")
        }
        await execution.settleAuditsIfPossible()
        let current = try await setup.complete()
        try requireSameUser(own)
        var intent = MergeIntent(id: environment.makeID(), fields: fields, mobileUserID: current.mobileUserID)
        intent.hasCurrent(current.recipientID)
        let isBegun = try await profile.update { [intent] record in
            guard record.isOwn(intent.mobileUserID) else { return false }
            record.merge = intent
            return true
        }
        guard isBegun else {
            try requireSameUser(own)
            throw EngageErrors.forgotten
        }
        return try await run(intent)
    }

    /// Does the same as ``checkIdentity(_:)``, and switches the session to the resulting user.
    ///
    /// The reference's SDK uses the merged ids at once; a session learns of them from this call, or from
    /// `UserSession.identify(_:)`. If `identify(_:)` has named another user before the merge ends, the session stays
    /// that user's.
    ///
    /// - Parameters:
    ///   - fields: Columns and values.
    ///   - session: The session of this installation's user.
    /// - Returns: The ids from now on.
    /// - Throws: As ``checkIdentity(_:)``, and `ErrorCode.consentDenied` if the session's user denies consent, in any
    ///   session; this session then stays unchanged.
    @discardableResult
    public func checkIdentity(
        _ fields: [String: String],
        for session: UserSession
    ) async throws(ExperimentationError) -> CheckResult {
        let (user, namings) = session.userAndNamings
        let own = profile.watches.watch([.ownUser])
        if session.isDenied { throw EngageErrors.denied }
        if user.consent == .granted { try await profile.noteConsent(of: user.id) }
        let result = try await check(fields, own)
        var identity = session.user.identity
        identity.id = result.mobileUserID
        session.endLinking(of: user.identity, as: identity, since: namings)
        return result
    }

    /// Ensures that the installation still has the user for whom a check was requested, because the fields identify
    /// that user.
    private func requireSameUser(_ own: UserWatch) throws(ExperimentationError) {
        if own.has(.removed) { throw EngageErrors.forgotten }
        if own.has(.followed) { throw EngageErrors.followed }
    }

    /// Resumes an interrupted merge, and writes the rows that are still owed to the audit table.
    ///
    /// - Returns: The result; `nil` if there was none.
    /// - Throws: As ``checkIdentity(_:)``.
    @discardableResult
    public func resumePendingMerge() async throws(ExperimentationError) -> CheckResult? {
        try await turn.take()
        defer { turn.leave() }
        try await profile.load()
        let result = try await finishPending()
        try await execution.settleAudits()
        return result
    }

    @discardableResult
    private func finishPending() async throws(ExperimentationError) -> CheckResult? {
        guard let intent = profile.record.merge else { return nil }
        return try await run(intent, isResumed: true)
    }

    /// Takes the remaining steps of a stored merge.
    private func run(
        _ start: MergeIntent,
        isResumed: Bool = false
    ) async throws(ExperimentationError) -> CheckResult {
        var intent = start
        let watch = profile.watches.watch(start.users)
        // From here on, the watch notices every removal; the merge may have been removed since it was read.
        try await keep(intent, of: intent.id)
        while intent.step != .done {
            do throws(ExperimentationError) {
                intent = try await execution.take(intent, watch)
            } catch {
                if error.code == .consentDenied {
                    // The stored merge may not name the removed user yet, so it is removed here.
                    try await keep(nil, of: intent.id)
                    throw error
                }
                if intent.step == .audit, error.code != .cancelled {
                    // The row is owed, and follows on its own.
                    try await keep(nil, of: intent.id)
                    return result(of: intent, pending: error)
                }
                let isResumable = intent.failed(error.cause as? XMLAPIFault, isResumed: isResumed)
                try await keep(isResumable ? intent : nil, of: intent.id)
                let interruption = MergeInterruption(
                    step: intent.step.rawValue,
                    isResumable: isResumable,
                    cause: error
                )
                throw ExperimentationError(
                    error.code,
                    "the merge stopped at \(intent.step.rawValue): \(error.message)",
                    cause: interruption
                )
            }
            try await keep(intent.step == .done ? nil : intent, of: intent.id)
        }
        return result(of: intent, pending: nil)
    }

    /// Stores the progress of a merge, or that it is over.
    ///
    /// - Throws: ``EngageErrors/forgotten`` if the merge was removed together with its user.
    private func keep(_ intent: MergeIntent?, of id: String) async throws(ExperimentationError) {
        let isKept = try await profile.update { record in
            guard record.merge?.id == id else { return false }
            record.merge = intent
            return true
        }
        guard isKept else { throw EngageErrors.forgotten }
    }

    private func result(of intent: MergeIntent, pending: ExperimentationError?) -> CheckResult {
        CheckResult(
            recipientID: intent.survivor,
            mergedRecipientID: intent.merged,
            mobileUserID: intent.survivingMobileUserID(column: configuration.recipients.mobileUserIDColumn),
            pendingAudit: pending
        )
    }
}
