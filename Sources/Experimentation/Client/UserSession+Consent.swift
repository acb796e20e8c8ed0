import Synchronization

/// A user's consent to tracking, and its effect on waiting events.
extension UserSession {
    /// Gives or withdraws consent.
    ///
    /// Granting consent releases held events, with their original times. Denying it removes the user's waiting events
    /// and stored state without a trace. Once this returns, no further delivery for the user begins except the vendor's
    /// own opt-out signal, and the user's events are refused, whichever session or process they come from, until the
    /// user consents again.
    ///
    /// - Throws: ``ErrorCode/store``; the consent takes effect in this process nevertheless, and calling again
    ///   completes what is still owed. ``ErrorCode/shutDown`` after the client's end: only a denial then takes effect,
    ///   but the vendor isn't told of it.
    public func setConsent(_ consent: Consent) async throws(ExperimentationError) {
        try await setConsent(consent, isNews: false)
    }

    /// Gives or withdraws consent as ``setConsent(_:)`` does, and informs the vendor even if nothing changes.
    ///
    /// This is for adapters that know better than the session what the vendor was told.
    ///
    /// - Throws: As ``setConsent(_:)``.
    package func restateConsent(_ consent: Consent) async throws(ExperimentationError) {
        try await setConsent(consent, isNews: true)
    }

    /// Gives or withdraws consent.
    ///
    /// - Parameters:
    ///   - consent: The user's choice.
    ///   - isNews: Whether the vendor is informed of a choice that the session knows already.
    /// - Throws: As ``setConsent(_:)``.
    private func setConsent(_ consent: Consent, isNews: Bool) async throws(ExperimentationError) {
        guard consent != .unknown else { return state.withLock { $0.user.consent = .unknown } }
        let (userID, ticket) = state.withLock { state in
            // The vendor may have been told of another session's choice.
            let isNews = isNews || state.user.consent != consent || !isLastWord(consent, of: state.user.id)
            if isNews { state.untold.note(consent, of: state.user.identity) }
            state.user.consent = consent
            state.statementFailure = nil
            if consent == .denied {
                state.forgetTracking()
                core.denials.note(state.user.id)
                core.cache.forget(state.user.id)
            }
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
            // The user's next event carries the consent again; held events go before that event.
            state.withLock { state in
                if state.isAbout(userID), state.user.consent == .granted { state.statementFailure = error }
            }
            throw error
        }
    }

    private func deny(_ ticket: Intake.Ticket, _ userID: String) async throws(ExperimentationError) {
        // Don't keep what is decided in the meantime either.
        defer { core.cache.forget(userID) }
        try await core.outbox.deny(ticket, userID)
    }

    /// Tells the vendor of a change of consent, unless it knows already or another session's choice has followed.
    ///
    /// The vendor is told even if the user has left the session since.
    ///
    /// - Parameters:
    ///   - consent: The user's choice.
    ///   - userID: The user.
    ///   - failure: An earlier failure.
    /// - Throws: The first failure.
    private func tell(
        _ consent: Consent,
        of userID: String,
        after failure: ExperimentationError?
    ) async throws(ExperimentationError) {
        let signal = TrackingEvent(.consentChanged(granted: consent == .granted))
        do throws(ExperimentationError) { try await core.prepare(for: signal) } catch { throw failure ?? error }
        let isWanted = (try? core.check(signal)) != nil
        let (eventID, now) = (isWanted ? core.environment.makeID() : "", core.environment.time.now)
        do throws(ExperimentationError) {
            // Claim and queue the signal in one step, so that it is sent once, and never behind the signal of a later
            // choice.
            let queued = try state.withLock { state throws(ExperimentationError) -> (Envelope, Intake.Ticket)? in
                guard let identity = state.untold.identity(ofUser: userID, choosing: consent) else { return nil }
                let isWanted = isWanted && isLastWord(consent, of: userID)
                let isPresent = state.isAbout(userID)
                if isWanted, isPresent { try state.user.validate() }
                state.untold.end(ofUser: userID)
                guard isWanted else { return nil }
                if isPresent {
                    return place(signal, eventID, at: now, on: nil, of: &state) { core.outbox.enter($0, consent: $1) }
                }
                let envelope = Envelope(id: eventID, identity: identity, session: id, event: signal, date: now)
                return (envelope, core.outbox.enter(envelope, consent: consent))
            }
            if let (envelope, ticket) = queued { try await send(envelope, ticket, consent) }
        } catch {
            throw failure ?? error
        }
        if let failure { throw failure }
    }

    /// Waits until the store has the signal of a choice; if it can't, the user's next call for the same choice sends
    /// it.
    private func send(
        _ signal: Envelope,
        _ ticket: Intake.Ticket,
        _ consent: Consent
    ) async throws(ExperimentationError) {
        do throws(ExperimentationError) {
            try await outcome(of: signal, ticket)
        } catch {
            state.withLock { state in
                // A user who has left may come back and make the same choice again.
                if state.isAbout(signal.identity.id), state.user.consent != consent { return }
                state.untold.restore(consent, of: signal.identity)
            }
            throw error
        }
    }

    // MARK: The consent that a session begins with

    /// Applies the consent that the user gave before the session began.
    func begin() { state.withLock { stateConsent(of: &$0) } }

    /// Queues the user's consent, as the session knows it, for the store.
    ///
    /// Called under the session's lock, so that everything is queued in the order in which it was stated.
    func stateConsent(of state: inout State) {
        let (userID, consent) = (state.user.id, state.user.consent)
        state.statementFailure = nil
        // Without events there is nothing to release. But a denial also removes what is stored, and a grant ends a
        // denial.
        guard consent != .unknown else { return }
        if consent == .granted, !core.roles.takesEvents, !core.outbox.mayBeDenied(by: userID) { return }
        if consent == .denied {
            state.forgetTracking()
            core.denials.note(userID)
            core.cache.forget(userID)
        }
        core.outbox.note(ConsentChange(userID: userID, isGranted: consent == .granted)) { [weak self] failure in
            self?.state.withLock { state in
                if state.isAbout(userID), state.user.consent == consent { state.statementFailure = failure }
            }
        }
    }

    /// Queues the user's consent again if the store couldn't be told of it.
    ///
    /// It isn't queued if it is no longer the user's latest choice: that would undo what was stated since in another
    /// session.
    ///
    /// - Returns: Whether it did.
    @discardableResult
    func restateConsent(of state: inout State) -> Bool {
        guard state.statementFailure != nil else { return false }
        guard isLastWord(state.user.consent, of: state.user.id) else {
            state.statementFailure = nil
            return false
        }
        stateConsent(of: &state)
        return true
    }

    /// Whether a user's latest choice in this run, in any session, doesn't contradict a choice.
    private func isLastWord(_ consent: Consent, of userID: String) -> Bool {
        core.outbox.isDenied(by: userID) == (consent == .denied)
    }

    /// Whether the user denies consent: in this session, or by the latest choice in this run, in any session.
    ///
    /// This is for work that adapters do without an event.
    package var isDenied: Bool {
        state.withLock { $0.user.consent == .denied || core.outbox.isDenied(by: $0.user.id) }
    }

    /// Waits until the denial that the session began with has been carried out: it is durable, and no delivery of the
    /// user's is under way.
    ///
    /// - Throws: Why it failed, if the second attempt failed as well.
    func untilDenied() async throws(ExperimentationError) {
        await core.outbox.drain()
        if state.withLock({ restateConsent(of: &$0) }) { await core.outbox.drain() }
        if let failure = state.withLock({ $0.statementFailure }) { throw failure }
    }
}

extension UserSession.State {
    /// Clears what is remembered of events, of the campaigns they brought, and of what is stored: a denial removes all
    /// of it.
    ///
    /// The epochs of events stay, so that late answers are recognized as such.
    ///
    /// The vendor may have to forget the user's attributes too, so after another grant all of them count as changes,
    /// and so do removals that the vendor wasn't told of.
    mutating func forgetTracking() {
        recorded = []
        restoration.skip()
        assignments.forgetStored()
        unwritten[ExactText(user.id)] = nil
        pendingChanges = pendingChanges.merging(user.attributes)
        board.dropHeld()
    }
}
