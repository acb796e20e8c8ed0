import Experimentation
import Synchronization

extension FlagshipVisitor {
    /// Gives or withdraws consent, and informs the vendor of a change.
    ///
    /// Withdrawing removes the visitor's cache and waiting hits, including those from before signing in, and nothing
    /// more is sent except the consent itself; once consent is given again, hits are sent again. Of several calls at
    /// once the last one counts.
    public func setConsent(_ hasConsented: Bool) async {
        state.withLock { state in
            state.hasConsented = hasConsented
            if !hasConsented { (state.exposed, state.shown, state.history) = ([], [], [:]) }
        }
        noteForReports()
        await carryOutConsent()
    }

    /// Makes the store, the caches and the vendor follow the visitor's choice.
    ///
    /// One call at a time, and each by the choice as it then is: an earlier one that is carried out late must not undo
    /// a later one.
    func carryOutConsent() async {
        await consentTurn.take {
            let (identity, hasConsented) = self.state.withLock { ($0.identity, $0.hasConsented) }
            await self.carryOut(hasConsented, for: identity)
        }
    }

    private func carryOut(_ hasConsented: Bool, for identity: FlagshipIdentity) async {
        let id = identity.visitorID
        if !hasConsented {
            for id in identity.ids {
                await flagship.visitors.flushVisitor(id)
                flagship.service?.observations.forget(id)
            }
        }
        guard let session else { return }
        let consents = flagship.consents
        // Until the vendor has been informed, the next visitor object with this id informs it.
        for id in identity.ids where !hasConsented { await consents.forget(id) }
        // Hits from before signing in wait under the earlier id. The consent hit has the current one.
        if !hasConsented, let earlier = identity.anonymousID {
            await carryOut(.denied, in: flagship.client?.session(for: User(id: earlier, consent: .denied)))
        }
        let isTold = await carryOut(hasConsented ? .granted : .denied, in: session)
        if hasConsented, isTold { await consents.wait(id, at: flagship.environment.time.now) }
    }

    /// - Returns: Whether the store and the delivery queue have it.
    @discardableResult
    private func carryOut(_ consent: Consent, in session: UserSession?) async -> Bool {
        do throws(ExperimentationError) {
            try await session?.setConsent(consent)
            return true
        } catch {
            log.log(.error, .consent, "the consent could not be stored: \(error)")
            return false
        }
    }
}
