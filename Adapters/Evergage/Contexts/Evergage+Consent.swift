import Experimentation

extension Evergage {
    private static let consentKey = "evergage.consent"
    private static let failure = "a change of consent isn't carried out yet"

    /// Grants or denies consent.
    ///
    /// Consent belongs to the device, whichever user is signed in. While it is denied, nothing is captured, and
    /// everything that waits is removed; a denial survives restarts until consent is granted again. `unknown` states
    /// nothing and changes nothing. The vendor's protocol has no consent, so nothing is sent.
    ///
    /// If the store fails, the failure is logged and the change is tried again: with the next call of this method, with
    /// a flush, and when the application goes to the background and returns. Nothing is sent until everything that
    /// waits is removed.
    public func setConsent(_ consent: Consent) {
        catchUp()
        if consent == self.consent.current || consent == .unknown { return finish() }
        self.consent.current = consent
        self.consent.isStated = true
        if consent == .denied {
            forgetCaptured()
            dropCampaigns()
        } else {
            // Whatever waited at a denial must not be sent because of a later grant.
            finish()
        }
        let change = EvergageConsent.Change(consent: consent, userID: userID, isForSession: session != nil)
        self.consent.underWay += 1
        perform {
            await $0.carryOut(change)
            $0.consent.underWay -= 1
            // Tracked at once, because later calls are tracked directly from here on.
            if $0.consent.underWay == 0 { $0.noteWaiting() }
        }
    }

    /// Retries what a failing store left undone of the latest change and of the launch.
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

    /// Resumes the consent of an earlier run, unless the application has stated another in this run.
    func restore(_ consent: Consent) {
        if !self.consent.isStated { self.consent.current = consent }
        if self.consent.current == .denied { forgetCaptured() }
    }

    /// Discards everything that was captured but isn't tracked yet.
    private func forgetCaptured() {
        discardUnstoredLaunch()
        waiting = []
        pending = [:]
        discardViewTime()
    }

    /// Stores a change and notifies the client.
    func carryOut(_ change: EvergageConsent.Change) async {
        // Stored first: if the process ends before the client is notified, the next run begins with it.
        let word = change.consent.rawValue
        let isStored = await trying(try await store.state.setText(word, for: Self.consentKey), Self.failure)
        // If a session has begun with a later statement, this change must not purge what it has tracked since.
        let isOutdated = !change.isForSession && change.consent != consent.current
        let isTold = isOutdated ? true : await tell(change)
        consent.unfinished = isStored && isTold ? nil : change
    }

    /// Tells the client whose consent changes: the session's user, the device, and the user at the time.
    ///
    /// - Returns: Whether the stores have taken everything.
    private func tell(_ change: EvergageConsent.Change) async -> Bool {
        guard let client, let session, let knownAnonymousID else { return true }
        let consent = change.consent
        // Held until the removal succeeds: waiting events may belong to users who have signed out, and nothing else
        // holds theirs.
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
