import Experimentation
import Synchronization

extension FlagshipVisitor {
    /// Remembers that a flag's value was read, for an exposure that is reported by itself.
    ///
    /// - Parameters:
    ///   - key: The flag.
    ///   - defaultValue: The default; `nil` for a read without one.
    func noteRead(_ key: String, default defaultValue: FlagValue?) {
        state.withLock { _ = $0.reads.updateValue(defaultValue, forKey: key) }
    }

    /// Returns the default of a flag's last read; `nil` if there was no read, or it had none.
    func lastDefault(of key: String) -> FlagValue? { state.withLock { $0.reads[key] ?? nil } }

    /// Reports that the visitor has seen a flag, by the exposure policy: to the vendor for each variation, to the
    /// application for each flag.
    ///
    /// - Parameters:
    ///   - key: The flag.
    ///   - defaultValue: The default given by the caller.
    func expose(_ key: String, default defaultValue: FlagValue?) {
        guard let session, let resolution = decisions[key] else {
            return log.log(.info, .activate, "the flag is unknown, so nothing is exposed")
        }
        let origin = FlagshipFlagMetadata(resolution.metadata)
        // The session may not know yet of a withdrawal.
        guard let (visitor, mark, isNew, isNewFlag) = state.withLock({ $0.see(key, origin) }) else {
            return log.log(.trace, .activate, "the exposure is left out: the visitor hasn't consented")
        }
        let exposure = Exposure(of: origin.assignment, through: key, value: resolution.value, default: defaultValue)
        if isNew || flagship.options.exposurePolicy == .everyRead {
            send(exposure, of: visitor, as: mark, in: session)
        } else if isNewFlag {
            flagship.service?.observations.add(FlagshipExposedFlag(exposure), of: visitor, to: mark)
        }
    }

    private func send(
        _ exposure: Exposure,
        of visitor: FlagshipExposedVisitor,
        as mark: FlagshipObservations.Mark,
        in session: UserSession
    ) {
        let observations = flagship.service?.observations
        observations?.begin(mark)
        // It is delivered later, perhaps by another run, and the application is notified of the visitor as of now; the
        // vendor's record in a cache of hits has the visitor whether anyone is notified or not.
        let isWanted = observations?.isWanted == true || flagship.options.caches.hits != nil
        let attributes: Attributes =
            isWanted ? [FlagshipExposedVisitor.contextAttribute: .object(visitor.context)] : [:]
        do throws(ExperimentationError) {
            try session.trackSoon(TrackingEvent(.exposure(exposure), attributes: attributes))
            reportExposure(mark)
        } catch {
            state.withLock { state in
                state.exposed.remove(mark)
                state.shown = state.shown.filter { $0.mark != mark }
            }
            log.log(.trace, .activate, "the exposure is left out: \(error)")
        }
    }
}

extension FlagshipVisitor.State {
    /// What a visitor has seen: as whom, for what the vendor counts it, and whether that and the flag are new.
    typealias Sight = (
        visitor: FlagshipExposedVisitor, mark: FlagshipObservations.Mark, isNew: Bool, isNewFlag: Bool
    )

    /// Remembers that the visitor sees a flag.
    ///
    /// - Returns: What is seen; `nil` without consent, and then nothing is remembered.
    mutating func see(_ key: String, _ origin: FlagshipFlagMetadata) -> Sight? {
        guard hasConsented else { return nil }
        let visitor = FlagshipExposedVisitor(
            id: identity.visitorID,
            anonymousID: identity.anonymousID,
            context: fullContext
        )
        let mark = FlagshipObservations.Mark(
            visitor: identity.visitorID,
            group: origin.variationGroupId,
            variation: origin.variationId
        )
        let isNewFlag = shown.insert(FlagshipVisitor.ShownFlag(key: key, mark: mark)).inserted
        return (visitor, mark, exposed.insert(mark).inserted, isNewFlag)
    }
}
