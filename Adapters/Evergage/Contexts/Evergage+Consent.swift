import Experimentation

extension Evergage {
    /// Gives or withdraws consent.
    ///
    /// While it is denied, nothing is captured, and waiting events are removed; it holds over restarts until consent is
    /// given again. The vendor's protocol has no consent, so nothing is sent.
    public func setConsent(_ consent: Consent) {
        catchUp()
        guard let change = self.consent.change(to: consent) else { return }
        if consent == .denied {
            preStart = []
            pendingUserAttributes = [:]
            pendingAccountAttributes = [:]
            for context in contexts { context.timer.discard(at: environment.time.instant) }
        }
        perform { await $0.tell(change) }
    }

    /// Tells the session of a change, and then tracks the calls that waited for that.
    private func tell(_ change: EvergageConsent.Change) async {
        // A session that began since then knows a later one; what it has tracked must not be purged.
        if consent.isNews(change) {
            do throws(ExperimentationError) {
                try await session?.setConsent(change.consent)
            } catch {
                drop(.error, "the consent could not be stored: \(error)")
            }
            consent.told(change)
        }
        if consent.isKnown { noteWaiting() }
    }
}
