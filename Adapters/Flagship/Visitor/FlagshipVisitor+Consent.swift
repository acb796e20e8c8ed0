import Experimentation
import Synchronization

extension FlagshipVisitor {
    /// Gives or withdraws consent, and informs the vendor of a change or of a consent that it doesn't know of.
    ///
    /// Withdrawing removes the visitor's cache and waiting hits, including those from before signing in, and nothing
    /// more is sent except the consent itself; once consent is given again, hits are sent again. Of several concurrent
    /// calls, the last one counts.
    public func setConsent(_ hasConsented: Bool) async {
        state.withLock { state in
            state.hasConsented = hasConsented
            guard !hasConsented else { return }
            (state.history, state.sentContext) = ([:], nil)
            state.withdrawn.formUnion(state.identity.ids)
        }
        noteForReports()
        await carryOutConsent()
    }

    /// Makes the store, the caches and the vendor follow the visitor's choice.
    ///
    /// Calls are carried out one at a time, each by the choice as it then is: an earlier call that is carried out late
    /// must not undo a later one. A withdrawal, however, applies to the ids at the moment it was made, and the visitor
    /// may have signed in or out since.
    ///
    /// - Parameter restating: Whether to tell the vendor of a refusal that isn't new, if the vendor is to be told.
    func carryOutConsent(restating: Bool = true) async {
        await consentTurn.run {
            let (identity, hasConsented, isOwed, withdrawn) = self.state.withLock { state in
                let isOwed = restating && state.owesRefusal
                defer {
                    state.withdrawn = []
                    if restating { state.owesRefusal = false }
                }
                return (state.identity, state.hasConsented, isOwed, state.withdrawn)
            }
            let others = hasConsented ? withdrawn : withdrawn.union(identity.ids)
            let earlier = others.subtracting([ExactText(identity.id)]).map(\.text).sorted()
            if hasConsented {
                await self.withdraw(earlier)
                await self.give(identity.id)
            } else {
                await self.withdraw(earlier, and: identity.id, isOwed: isOwed)
            }
        }
    }

    private func give(_ visitorID: String) async {
        guard let session else { return }
        let (consents, now) = (flagship.consents, flagship.environment.time.now)
        let isKnown = await consents.isKnown(visitorID, at: now)
        // The session reports only a change, but an earlier signal may have expired or had another id.
        guard await carryOut(.granted, in: session, isOwed: !isKnown), !isKnown else { return }
        await consents.wait(visitorID, at: now)
    }

    /// Withdraws consent under ids from before signing in or out, under which hits wait, and under any current id.
    ///
    /// It stops hits and deliveries first, because the application's cache may take any time.
    private func withdraw(_ earlier: [String], and current: String? = nil, isOwed: Bool = false) async {
        let ids = (current.map { [$0] } ?? []) + earlier
        for id in ids {
            flagship.service?.observations.forget(id)
            session?.forgetExposures(of: id)
        }
        if let client = flagship.client {
            // Sessions of these ids deny from the beginning. The consent hit has the current id.
            let sessions = earlier.map { client.session(for: User(id: $0, consent: .denied)) }
            if current != nil { await carryOut(.denied, in: session, isOwed: isOwed) }
            for session in sessions { await carryOut(.denied, in: session) }
            // Until the vendor has been informed, the next visitor object with this id informs it.
            for id in ids { await flagship.consents.forget(id) }
        }
        for id in ids { await flagship.visitors.flushVisitor(id) }
    }

    /// Applies a choice to the store and the delivery queue, and returns whether that succeeded.
    ///
    /// If a statement is owed, the vendor is told even though the session has had this consent before.
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
