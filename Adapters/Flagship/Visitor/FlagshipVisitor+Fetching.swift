import Experimentation
import Foundation
import Synchronization

extension FlagshipVisitor {
    /// Brings the flags up to date: asks the vendor, or decides anew by the file at hand.
    ///
    /// On failure the flags at hand stay, those of an earlier run included. It never throws; ``fetchStatus`` says what came
    /// of it.
    public func fetchFlags() async {
        guard let session, flagship.status != .notInitialized else {
            log.log(.info, .synchronize, "nothing was started, so there is nothing to fetch")
            return take(.fetchedUnstarted)
        }
        take(.fetchStarted)
        reportSetup()
        do throws(ExperimentationError) {
            try await session.refresh()
        } catch {
            log.log(.error, .synchronize, "the flags could not be fetched: \(error)")
            take(.fetchFailed)
            return await afterFetch(session, isGood: false)
        }
        if session.status == .disabled {
            flagship.set(.panic)
            return take(.panicFound)
        }
        flagship.set(.initialized)
        state.withLock { state in
            state.hasFetched = true
            state.cached = nil
        }
        take(.fetchSucceeded)
        await afterFetch(session, isGood: true)
    }

    /// Brings the flags up to date and calls back, for callers that don't await.
    ///
    /// - Parameter completion: Called once on the main actor, whatever came of it.
    public func fetchFlags(onFetchCompleted completion: @escaping @MainActor @Sendable () -> Void) {
        Task {
            await self.fetchFlags()
            await completion()
        }
    }

    private func afterFetch(_ session: UserSession, isGood: Bool) async {
        flagship.service?.observations.note(context(), of: visitorID)
        guard hasConsented else { return }
        if isGood {
            let record = record(of: session.decisions)
            reportFetch(record)
            await flagship.visitors.cacheVisitor(record.visitorID, record.json)
        }
        guard flagship.options.mode == .bucketing else { return }
        // The vendor isn't asked for decisions, so a hit tells it the context, once for each.
        let context = context()
        let isNews = state.withLock { state in
            defer { state.sentContext = context }
            return state.sentContext != context
        }
        if isNews { try? await session.track(TrackingEvent(.native(FlagshipHit.segment(context).native))) }
    }

    /// The visitor with its flags, for a run without the vendor.
    private func record(of decisions: Decisions) -> FlagshipVisitorRecord {
        var record = FlagshipVisitorRecord(
            visitorID: visitorID,
            anonymousID: anonymousID,
            consent: true,
            context: context()
        )
        for assignment in decisions.assignments { record.assignments[assignment.group] = assignment.variation.id }
        for key in decisions.keys {
            guard let flag = decisions[key] else { continue }
            record.flags[key] = (flag.value, FlagshipFlagMetadata(flag.metadata))
        }
        return record
    }

    // MARK: Consent

    /// Gives or withdraws consent, and tells the vendor if it has changed.
    ///
    /// Withdrawn, the visitor's cache and waiting hits are removed, and nothing more is sent but the consent itself; given
    /// again, hits flow again.
    public func setConsent(_ hasConsented: Bool) async {
        state.withLock { state in
            state.hasConsented = hasConsented
            if !hasConsented { state.exposed = [] }
        }
        noteForReports()
        let id = visitorID
        if !hasConsented { await flagship.visitors.flushVisitor(id) }
        guard let session else { return }
        do throws(ExperimentationError) {
            try await session.setConsent(hasConsented ? .granted : .denied)
        } catch {
            log.log(.error, .consent, "the consent could not be stored: \(error)")
        }
        await FlagshipInstallation(state: flagship.state, environment: flagship.environment)
            .noteConsent(of: id, hasConsented)
    }

    // MARK: Hits

    /// Hands over a hit, to be sent with others.
    ///
    /// - Returns: Whether it was taken: not before the start, not in panic, not without consent, and not if the collector
    ///   would refuse it. The log says why.
    @discardableResult
    public func sendHit(_ hit: FlagshipHit) async -> Bool {
        guard let session, flagship.status != .notInitialized, flagship.status != .panic else {
            log.log(.info, .hit, "the hit is left out while the status is \(flagship.status.rawValue)")
            return false
        }
        do throws(ExperimentationError) {
            try await session.track(TrackingEvent(.native(hit.native)))
            reportHit(hit)
            return true
        } catch {
            log.log(error.code == .consentDenied ? .info : .error, .hit, "the hit is left out: \(error)")
            return false
        }
    }

    // MARK: Reading

    /// The flags as they are read now: none in panic or before the start, those of an earlier run before the first fetch.
    var decisions: Decisions {
        guard let session, flagship.status != .notInitialized, flagship.status != .panic else { return .none }
        let (cached, hasFetched) = state.withLock { ($0.cached, $0.hasFetched) }
        if !hasFetched, let cached { return cached }
        return session.decisions
    }

    /// A flag by its key; an unknown one reads as its default.
    public func flag(_ key: String) -> FlagshipFlag { FlagshipFlag(key: key, visitor: self) }

    /// All flags that are there now.
    public func flags() -> FlagshipFlagCollection {
        FlagshipFlagCollection(keys: decisions.keys, visitor: self)
    }

    /// Reports that the visitor has seen a flag's value, by the exposure policy.
    func expose(_ key: String, default defaultValue: FlagValue?) {
        guard let session, let resolution = decisions[key] else {
            return log.log(.info, .activate, "nobody knows the flag, so nothing is exposed")
        }
        let origin = FlagshipOrigin(FlagshipFlagMetadata(resolution.metadata))
        let mark = ExposureMark(visitor: visitorID, group: origin.variationGroupID, variation: origin.variationID)
        let isNew = state.withLock { $0.exposed.insert(mark).inserted }
        guard isNew || flagship.options.exposurePolicy == .everyRead else { return }
        let exposure = Exposure(
            assignment: origin.assignment,
            flagKey: key,
            value: resolution.value,
            defaultValue: defaultValue
        )
        flagship.service?.observations.note(context(), of: mark.visitor)
        do throws(ExperimentationError) {
            try session.trackSoon(TrackingEvent(.exposure(exposure)))
            reportExposure(origin)
        } catch {
            state.withLock { _ = $0.exposed.remove(mark) }
            log.log(.trace, .activate, "the exposure is left out: \(error)")
        }
    }
}
