import Experimentation

extension Evergage {
    private static let consentKey = "evergage.consent"

    /// Gives or withdraws consent.
    ///
    /// It belongs to the device, whoever is signed in. While it is denied, nothing is captured, and everything that
    /// waits is removed; it holds over restarts until consent is given again. The vendor's protocol has no consent, so
    /// nothing is sent.
    public func setConsent(_ consent: Consent) {
        catchUp()
        let before = self.consent.current
        guard let change = self.consent.change(to: consent) else { return }
        if consent == .denied { forgetCaptured() }
        // What is viewed stays, but the time of the denial never counts.
        if before == .denied { discardViewTime() }
        perform { [currentUserID] in await $0.carryOut(change, of: currentUserID) }
    }

    /// Returns the consent that an earlier run stored.
    func loadConsent() async throws(ExperimentationError) -> Consent {
        let bytes = try await store.state.value(for: Self.consentKey)
        return bytes.flatMap { Consent(rawValue: String(decoding: $0, as: UTF8.self)) } ?? .unknown
    }

    /// Resumes the consent of an earlier run, unless this one has heard another since.
    func restore(_ consent: Consent) {
        self.consent.restore(consent)
        if self.consent.current == .denied { forgetCaptured() }
    }

    /// Discards what was captured and isn't tracked yet.
    private func forgetCaptured() {
        preStart = []
        pendingUserAttributes = [:]
        pendingAccountAttributes = [:]
        discardViewTime()
    }

    private func discardViewTime() {
        for context in contexts { context.timer.discard(at: environment.time.instant) }
    }

    /// Stores a change and tells the client of it, and then tracks the calls that waited for that.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - userID: The user at the time.
    private func carryOut(_ change: EvergageConsent.Change, of userID: String?) async {
        // First: if the process ends before the client is told, the next run begins with it.
        await trying { [store] () async throws(ExperimentationError) in
            let bytes = change.consent == .unknown ? nil : Array(change.consent.rawValue.utf8)
            try await store.state.setValue(bytes, for: Self.consentKey)
        }
        // A session that began since then knows a later one; what it has tracked must not be purged.
        if consent.isNews(change) {
            await tell(change.consent, of: userID)
            consent.told(change)
            // At once, because later calls are tracked directly from here on.
            if consent.isKnown { noteWaiting() }
        }
    }

    /// Tells the client whose consent it is: that of the session's user, of the device, and of the user at the time.
    private func tell(_ consent: Consent, of userID: String?) async {
        guard let client, let session, let knownAnonymousID else { return }
        await trying { () async throws(ExperimentationError) in try await session.setConsent(consent) }
        let people = Set([nil, userID].map { identity(of: $0, anonymousID: knownAnonymousID) })
        for identity in people where identity != session.user.identity {
            let user = User(id: identity.id, anonymousID: knownAnonymousID, isAuthenticated: identity.isAuthenticated)
            await trying { () async throws(ExperimentationError) in try await client.setConsent(consent, for: user) }
        }
        if consent == .denied { await removeWaitingEvents(of: client) }
    }

    /// Logs a failure, and goes on: what can still be told must be.
    private func trying(_ action: () async throws(ExperimentationError) -> Void) async {
        do throws(ExperimentationError) {
            try await action()
        } catch {
            drop(.error, "the consent could not be stored: \(error)")
        }
    }
}
