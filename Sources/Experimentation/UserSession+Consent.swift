import Synchronization

/// What a user agrees to, and what follows from it for what waits.
extension UserSession {
    /// Gives or withdraws consent.
    ///
    /// Granted lets held events go, with their original times. Denied removes what waits and what is kept of the user
    /// without a trace; when this returns, no further delivery of theirs begins but that of the vendor's own signal.
    ///
    /// - Throws: ``ErrorCode/store``; the consent counts nevertheless, and the same call does what is still owed.
    public func setConsent(_ consent: Consent) async throws(ExperimentationError) {
        let userID = state.withLock { state in
            if state.user.consent != consent { state.untoldConsent = consent == .unknown ? nil : consent }
            state.user.consent = consent
            return state.user.id
        }
        switch consent {
        case .unknown: return
        case .granted:
            var failure: ExperimentationError?
            do throws(ExperimentationError) {
                try await core.outbox.release(userID: userID) { [self] in isGranted(userID) }
            } catch {
                failure = error
            }
            try await tell(consent, of: userID, after: failure)
        case .denied:
            try await tell(consent, of: userID, after: await forget(userID))
        }
    }

    /// Removes what waits and what is kept of a user, all that can be removed.
    ///
    /// - Parameter userID: Whose.
    /// - Returns: Why something is left.
    private func forget(_ userID: String) async -> ExperimentationError? {
        state.withLock { state in
            state.recorded = []
            state.pendingChanges = [:]
            state.epochs = [:]
        }
        core.cache.forget(userID)
        // What is decided meanwhile is no longer to be kept either.
        defer { core.cache.forget(userID) }
        do throws(ExperimentationError) {
            try await core.outbox.withdraw(userID: userID) { [self] in
                state.withLock { $0.user.id != userID || $0.user.consent == .denied }
            }
            return nil
        } catch {
            return error
        }
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
        if isOwed, let sink = core.roles.events, (try? sink.check(signal)) != nil {
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

    private func isGranted(_ userID: String) -> Bool {
        state.withLock { $0.user.id == userID && $0.user.consent == .granted }
    }

    /// Lets go what an earlier run held of this session's user, if they agree.
    func welcome() {
        let user = user
        guard user.consent == .granted, core.outbox.mayHold.load(ordering: .relaxed) else { return }
        Task { [weak self, outbox = core.outbox] in
            await outbox.welcome(userID: user.id) { [weak self] in self?.isGranted(user.id) ?? true }
        }
    }

    /// Lets an event go that was stored as held, if consent was given just then.
    func letGo(of userID: String, ifHeld isHeld: Bool) async throws(ExperimentationError) {
        guard isHeld, isGranted(userID) else { return }
        try await core.outbox.release(userID: userID) { [self] in isGranted(userID) }
    }

    /// The same for callers who can't wait; if the store fails, the user's next event tries again.
    func letGoSoon(of userID: String, ifHeld isHeld: Bool) {
        guard isHeld, isGranted(userID) else { return }
        Task { try await letGo(of: userID, ifHeld: true) }
    }
}
