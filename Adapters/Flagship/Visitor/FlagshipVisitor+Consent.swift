import Experimentation
import Synchronization

extension FlagshipVisitor {
    /// Gives or withdraws consent, and informs the vendor of a change, or of a consent that it doesn't know of.
    ///
    /// Withdrawing removes the visitor's cache and waiting hits, including those from before signing in, and nothing
    /// more is sent except the consent itself; once consent is given again, hits are sent again. Of several calls at
    /// once the last one counts.
    public func setConsent(_ hasConsented: Bool) async {
        state.withLock { state in
            state.hasConsented = hasConsented
            if !hasConsented { state.forgetTracking() }
        }
        noteForReports()
        await carryOutConsent()
    }

    /// Makes the store, the caches and the vendor follow the visitor's choice.
    ///
    /// One call at a time, and each by the choice as it then is: an earlier one that is carried out late must not undo
    /// a later one.
    func carryOutConsent() async {
        await consentTurn.run {
            let (identity, hasConsented, owesRefusal) = self.state.withLock { state in
                defer { state.owesRefusal = false }
                return (state.identity, state.hasConsented, state.owesRefusal)
            }
            if hasConsented {
                await self.give(identity)
            } else {
                await self.withdraw(identity, isOwed: owesRefusal)
            }
        }
    }

    private func give(_ identity: FlagshipIdentity) async {
        guard let session else { return }
        let (consents, now) = (flagship.consents, flagship.environment.time.now)
        let isKnown = await consents.isKnown(identity.visitorID, at: now)
        // The session reports a change only, but an earlier signal may have expired, or have had another id.
        guard await carryOut(.granted, in: session, isOwed: !isKnown), !isKnown else { return }
        await consents.wait(identity.visitorID, at: now)
    }

    /// Stops hits and deliveries first: the application's cache may take any time.
    private func withdraw(_ identity: FlagshipIdentity, isOwed: Bool) async {
        for id in identity.ids { flagship.service?.observations.forget(id) }
        if let session {
            // Hits from before signing in wait under the earlier id, whose session denies them from its beginning. The
            // consent hit has the current one.
            let earlier = identity.anonymousID.flatMap { flagship.client?.session(for: User(id: $0, consent: .denied)) }
            await carryOut(.denied, in: session, isOwed: isOwed)
            await carryOut(.denied, in: earlier)
            // Until the vendor has been informed, the next visitor object with this id informs it.
            for id in identity.ids { await flagship.consents.forget(id) }
        }
        for id in identity.ids { await flagship.visitors.flushVisitor(id) }
    }

    /// - Parameters:
    ///   - consent: The visitor's choice.
    ///   - session: The session of the id that it is about.
    ///   - isOwed: Whether the vendor is to be told although the session has had this consent before.
    /// - Returns: Whether the store and the delivery queue have it.
    @discardableResult
    private func carryOut(_ consent: Consent, in session: UserSession?, isOwed: Bool = false) async -> Bool {
        do throws(ExperimentationError) {
            if isOwed { try await session?.restateConsent(consent) } else { try await session?.setConsent(consent) }
            return true
        } catch {
            log.log(.error, .consent, "the consent could not be stored: \(error)")
            return false
        }
    }
}
