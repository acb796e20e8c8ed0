import Experimentation
import Synchronization

extension FlagshipVisitor {
    /// Remembers that a flag's value was read, for an exposure that is reported separately.
    func noteRead(_ key: String, default defaultValue: FlagValue?) {
        state.withLock { _ = $0.reads.updateValue(defaultValue, forKey: ExactText(key)) }
    }

    /// Returns the default of a flag's last read; `nil` if there was no read, or the read had none.
    func lastDefault(of key: String) -> FlagValue? { state.withLock { $0.reads[ExactText(key)] ?? nil } }

    /// Reports that the visitor has seen a flag, according to the exposure policy.
    ///
    /// The vendor receives a report for each variation, the application for each flag.
    func expose(_ key: String, default defaultValue: FlagValue?) {
        guard let session, let resolution = decisions[key] else {
            return log.log(.info, .activate, "the flag is unknown, so nothing is exposed")
        }
        let assignment = FlagshipFlagMetadata(resolution.metadata).assignment
        let exposure = Exposure(of: assignment, through: key, value: resolution.value, default: defaultValue)
        // The session may not know of a withdrawal yet.
        guard hasConsented else {
            return log.log(.trace, .activate, "the exposure is left out: the visitor hasn't consented")
        }
        let viewer = state.withLock { User($0.identity, attributes: Attributes($0.fullContext)) }
        // The exposure is delivered later, perhaps by another run, and the application is notified of the visitor as of
        // now. The vendor's record in a cache of hits contains the visitor whether or not the application is notified.
        let isWanted = flagship.options.onVisitorExposed != nil || flagship.options.caches.hits != nil
        let context = FlagValue.object(viewer.attributes.values)
        do throws(ExperimentationError) {
            let isRecorded = try session.expose(
                exposure,
                to: viewer,
                attributes: isWanted ? [FlagshipExposedVisitor.contextAttribute: context] : [:],
                isRepeatable: flagship.options.exposurePolicy == .everyRead
            )
            guard isRecorded else { return }
            report(.exposure) { ["hit.caid": assignment.group, "hit.vaid": assignment.variation.id] }
        } catch {
            log.log(.trace, .activate, "the exposure is left out: \(error)")
        }
    }
}
