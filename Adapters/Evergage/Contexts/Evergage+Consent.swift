import Experimentation

extension Evergage {
    private static let consentKey = "evergage.consent"
    private static let failure = "a change of consent isn't carried out yet"

    /// Gives or withdraws consent.
    ///
    /// It belongs to the device, whichever user is signed in. While it is denied, nothing is captured, and everything that
    /// waits is removed; it holds over restarts until consent is given again. `unknown` states nothing, and changes
    /// nothing. The vendor's protocol has no consent, so nothing is sent.
    ///
    /// If the store fails, that is logged and tried again: with the next call of this method, with a flush, and on the
    /// way to the background and back. Until what waits is removed, nothing is sent.
    public func setConsent(_ consent: Consent) {
        catchUp()
        if consent == self.consent.current || consent == .unknown { return finish() }
        self.consent.current = consent
        self.consent.isStated = true
        if consent == .denied {
            forgetCaptured()
            dropCampaigns()
        } else {
            // What waited at a denial must not be sent because of a later grant.
            finish()
        }
        let change = EvergageConsent.Change(consent: consent, userID: userID, isForSession: session != nil)
        self.consent.underWay += 1
        perform {
            await $0.carryOut(change)
            $0.consent.underWay -= 1
            // At once, because later calls are tracked directly from here on.
            if $0.consent.underWay == 0 { $0.noteWaiting() }
        }
    }

    /// Tries again what a failing store left undone of the latest change, and of the launch.
    func finish() {
        perform {
            if let change = $0.consent.unfinished { await $0.carryOut(change) }
            await $0.storeLaunch()
        }
    }

    /// Returns the consent that an earlier run stored.
    func loadConsent() async throws(ExperimentationError) -> Consent {
        try await store.state.text(for: Self.consentKey).flatMap(Consent.init(rawValue:)) ?? .unknown
    }

    /// Resumes the consent of an earlier run, unless this one has heard another since.
    func restore(_ consent: Consent) {
        if !self.consent.isStated { self.consent.current = consent }
        if self.consent.current == .denied { forgetCaptured() }
    }

    /// Discards what was captured and isn't tracked yet.
    private func forgetCaptured() {
        discardUnstoredLaunch()
        waiting = []
        pending = [:]
        discardViewTime()
    }

    /// Stores a change, and tells the client of it.
    func carryOut(_ change: EvergageConsent.Change) async {
        // First: if the process ends before the client is told, the next run begins with it.
        let word = change.consent.rawValue
        let isStored = await trying(try await store.state.setText(word, for: Self.consentKey), Self.failure)
        // What a session has tracked since it began with a later statement must not be purged by this one.
        let isOutdated = !change.isForSession && change.consent != consent.current
        let isTold = isOutdated ? true : await tell(change)
        consent.unfinished = isStored && isTold ? nil : change
    }

    /// Tells the client whose consent it is: that of the session's user, of the device, and of the user at the time.
    ///
    /// - Returns: Whether the stores have taken everything.
    private func tell(_ change: EvergageConsent.Change) async -> Bool {
        guard let client, let session, let knownAnonymousID else { return true }
        let consent = change.consent
        // Until its removal succeeds: what waits may belong to users who have signed out, whom nothing else stops.
        if consent == .denied { await client.holdDelivery() }
        var isTold = await trying(try await session.setConsent(consent), Self.failure)
        let people = Set([nil, change.userID].map { identity(of: $0, anonymousID: knownAnonymousID) })
        for identity in people where identity != session.user.identity {
            let user = User(id: identity.id, anonymousID: knownAnonymousID, isAuthenticated: identity.isAuthenticated)
            isTold = await trying(try await client.setConsent(consent, for: user), Self.failure) && isTold
        }
        if consent == .denied, await !trying(try await client.removeWaitingEvents(), Self.failure) { return false }
        await client.beginDelivery()
        return isTold
    }
}
