import Experimentation
import Synchronization

extension FlagshipVisitor {
    /// Remembers that a flag's value was read, for an exposure that is reported by itself.
    func noteRead(_ key: String, default defaultValue: FlagValue?) {
        state.withLock { _ = $0.reads.updateValue(defaultValue, forKey: key) }
    }

    /// Returns the default of a flag's last read; `nil` if there was no read, or it had none.
    func lastDefault(of key: String) -> FlagValue? { state.withLock { $0.reads[key] ?? nil } }

    /// Reports that the visitor has seen a flag, by the exposure policy: to the vendor for each variation, to the
    /// application for each flag.
    func expose(_ key: String, default defaultValue: FlagValue?) {
        guard let session, let resolution = decisions[key] else {
            return log.log(.info, .activate, "the flag is unknown, so nothing is exposed")
        }
        let assignment = FlagshipFlagMetadata(resolution.metadata).assignment
        let exposure = Exposure(of: assignment, through: key, value: resolution.value, default: defaultValue)
        // The session may not know yet of a withdrawal.
        guard let (visitor, isNew, isNewFlag) = state.withLock({ $0.see(exposure) }) else {
            return log.log(.trace, .activate, "the exposure is left out: the visitor hasn't consented")
        }
        let isRecorded = isNew || flagship.options.exposurePolicy == .everyRead
        guard isRecorded || isNewFlag else { return }
        flagship.service?.observations.see(FlagSight(user: visitor, exposure: exposure, isRecorded: isRecorded))
        if isRecorded { send(exposure, of: visitor, in: session) }
    }

    private func send(_ exposure: Exposure, of visitor: User, in session: UserSession) {
        // It is delivered later, perhaps by another run, and the application is notified of the visitor as of now; the
        // vendor's record in a cache of hits has the visitor whether anyone is notified or not.
        let isWanted = flagship.options.onVisitorExposed != nil || flagship.options.caches.hits != nil
        let attributes: Attributes =
            isWanted ? [FlagshipExposedVisitor.contextAttribute: .object(visitor.attributes.values)] : [:]
        let mark = FlagshipObservations.Mark(of: exposure, visitor: visitor.id)
        do throws(ExperimentationError) {
            try session.trackSoon(TrackingEvent(.exposure(exposure), attributes: attributes))
            report(.exposure) { ["hit.caid": mark.group, "hit.vaid": mark.variation] }
        } catch {
            state.withLock { $0.seen[mark] = nil }
            log.log(.trace, .activate, "the exposure is left out: \(error)")
        }
    }
}

extension FlagshipVisitor.State {
    /// Remembers that the visitor sees a flag, and returns whether its variation and the flag itself are new; without
    /// consent remembers nothing and returns `nil`.
    mutating func see(_ exposure: Exposure) -> (visitor: User, isNew: Bool, isNewFlag: Bool)? {
        guard hasConsented else { return nil }
        let (id, anonymousID) = (identity.id, identity.anonymousID)
        let visitor = User(id: id, anonymousID: anonymousID, attributes: Attributes(fullContext))
        let mark = FlagshipObservations.Mark(of: exposure, visitor: visitor.id)
        let isNew = seen[mark] == nil
        let isNewFlag = seen[mark, default: []].insert(exposure.flagKey ?? "").inserted
        return (visitor, isNew, isNewFlag)
    }
}
