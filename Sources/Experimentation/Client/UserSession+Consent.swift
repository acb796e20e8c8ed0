import Synchronization

/// What a user says of being tracked, and what follows from it for what waits.
extension UserSession {
    /// Gives or withdraws consent.
    ///
    /// Granted releases held events, with their original times. Denied removes what waits and what is kept of the user
    /// without a trace; when this returns, no further delivery of theirs begins but that of the vendor's own signal, and
    /// events of theirs are refused, whichever session or process they come from, until they consent again.
    ///
    /// - Throws: ``ErrorCode/store``; the consent counts nevertheless in this process, and the same call does what is still
    ///   owed.
    public func setConsent(_ consent: Consent) async throws(ExperimentationError) {
        guard consent != .unknown else { return state.withLock { $0.user.consent = .unknown } }
        let (userID, ticket) = state.withLock { state in
            if state.user.consent != consent { state.untoldConsent = consent }
            state.user.consent = consent
            state.statementFailure = nil
            if consent == .denied { state.forgetTracking() }
            let change = ConsentChange(userID: state.user.id, isGranted: consent == .granted)
            return (state.user.id, core.outbox.enter(change))
        }
        var failure: ExperimentationError?
        do throws(ExperimentationError) {
            if consent == .granted {
                try await grant(ticket, userID)
            } else {
                try await deny(ticket, userID)
            }
        } catch {
            failure = error
        }
        try await tell(consent, of: userID, after: failure)
    }

    private func grant(_ ticket: Intake.Ticket, _ userID: String) async throws(ExperimentationError) {
        do throws(ExperimentationError) {
            try await core.outbox.outcome(of: ticket)
        } catch {
            // The user's next event says it again: what is held goes before it.
            state.withLock { state in
                if state.user.id == userID, state.user.consent == .granted { state.statementFailure = error }
            }
            throw error
        }
    }

    private func deny(_ ticket: Intake.Ticket, _ userID: String) async throws(ExperimentationError) {
        core.cache.forget(userID)
        // What is decided meanwhile is no longer to be kept either.
        defer { core.cache.forget(userID) }
        try await core.outbox.deny(ticket, userID) { [self] in isDenied(userID) }
    }

    private func isDenied(_ userID: String) -> Bool {
        state.withLock { $0.user.id != userID || $0.user.consent == .denied }
    }

    /// Tells the vendor of a change of consent, unless it has been told.
    ///
    /// - Parameters:
    ///   - consent: What the user says.
    ///   - userID: Who.
    ///   - failure: What went wrong before.
    /// - Throws: The first thing that went wrong.
    private func tell(
        _ consent: Consent,
        of userID: String,
        after failure: ExperimentationError?
    ) async throws(ExperimentationError) {
        // Taken first, so that two calls at once tell it once.
        let isOwed = state.withLock { state in
            guard state.untoldConsent == consent, state.user.id == userID else { return false }
            state.untoldConsent = nil
            return true
        }
        let signal = TrackingEvent(.consentChanged(granted: consent == .granted))
        if isOwed, (try? core.check(signal)) != nil {
            do throws(ExperimentationError) {
                try await track(signal)
            } catch {
                state.withLock { state in
                    guard state.user.id == userID, state.user.consent == consent else { return }
                    state.untoldConsent = consent
                }
                throw failure ?? error
            }
        }
        if let failure { throw failure }
    }

    // MARK: The consent that a session begins with

    /// Says what the user said before the session began.
    func begin() { state.withLock { stateConsent(of: &$0) } }

    /// Has the user's consent, as the session knows it, take its place on the way to the store.
    ///
    /// Under the session's lock, so that everything is queued in the order in which it was said.
    func stateConsent(of state: inout State) {
        let (userID, consent) = (state.user.id, state.user.consent)
        state.statementFailure = nil
        guard consent != .unknown, core.roles.takesEvents else { return }
        if consent == .denied {
            state.forgetTracking()
            core.cache.forget(userID)
        }
        core.outbox.note(ConsentChange(userID: userID, isGranted: consent == .granted)) { [weak self] failure in
            self?.state.withLock { state in
                if state.user.id == userID, state.user.consent == consent { state.statementFailure = failure }
            }
        }
    }

    /// Waits until the denial that the session began with is carried out: it is durable then, and nothing of the user's is
    /// under way.
    ///
    /// - Throws: Why it couldn't be, by the second attempt as well.
    func untilDenied() async throws(ExperimentationError) {
        await core.outbox.drain()
        if state.withLock({ $0.statementFailure }) != nil {
            state.withLock { stateConsent(of: &$0) }
            await core.outbox.drain()
        }
        await core.outbox.withdraw(user.id)
        if let failure = state.withLock({ $0.statementFailure }) { throw failure }
    }
}

extension UserSession.State {
    /// Forgets what is remembered of events.
    mutating func forgetTracking() {
        recorded = []
        pendingChanges = [:]
        epochs = [:]
    }
}
