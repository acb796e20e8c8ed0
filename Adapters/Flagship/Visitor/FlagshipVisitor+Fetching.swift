import Experimentation
import Foundation
import Synchronization

extension FlagshipVisitor {
    /// Brings the flags up to date: asks the vendor, or decides again by the current file.
    ///
    /// On failure the current flags stay, including those of an earlier run; a panic removes them until a fetch
    /// succeeds. It never throws; ``fetchStatus`` shows the outcome. In bucketing mode it waits only while there is no
    /// file to decide by, because none has arrived yet or the last one ended in a panic. It waits no longer than
    /// ``FlagshipOptions/timeout``, also in a cancelled task.
    public func fetchFlags() async {
        guard let session, flagship.status != .notInitialized else {
            log.log(.info, .synchronize, "nothing was started, so there is nothing to fetch")
            return transition { $0.machine.become(.fetchRequired) }
        }
        let fetch = transition { $0.machine.begin() }
        report(.configuration) { flagship.reportedFields }
        let hasFlags: Bool
        do throws(ExperimentationError) {
            hasFlags = try await decide(in: session)
        } catch {
            log.log(.error, .synchronize, "the flags could not be fetched: \(error)")
            transition { $0.machine.fail(fetch) }
            return await finishFetch(in: session, hasSucceeded: false)
        }
        let status = flagship.set { _ in session.status == .disabled ? .panic : .initialized }
        // The flags are gone for this visitor, even if another one's fetch ends the panic.
        let hasSucceeded = hasFlags && status != .panic
        transition { state in
            if hasSucceeded { state.machine.succeed(fetch) } else { state.machine.become(.panic) }
            state.held = hasSucceeded ? nil : (.none, state.identity)
        }
        if hasSucceeded { await finishFetch(in: session, hasSucceeded: true) }
    }

    /// Brings the flags up to date and calls back, for callers that don't await.
    ///
    /// - Parameter completion: Called once on the main actor, whatever the outcome.
    public func fetchFlags(onFetchCompleted completion: @escaping @MainActor @Sendable () -> Void) {
        Task {
            await self.fetchFlags()
            await completion()
        }
    }

    /// Brings the session's decisions up to date.
    ///
    /// - Returns: Whether there are flags; there are none if the kill switch was on.
    /// - Throws: Why it failed; ``ErrorCode/timeout`` if no file of campaigns arrives in time.
    private func decide(in session: UserSession) async throws(ExperimentationError) -> Bool {
        // As in the original, a fetch decides by the stored file at once, and polling renews the file.
        if try await session.decideByRestoredRules() { return true }
        guard flagship.options.mode == .bucketing else { return try await session.refreshUnlessDisabled() }
        // With a file, this takes no time. The first file may take as long as any transfer, and arrives in any case.
        let (limit, time) = (flagship.options.timeout, flagship.environment.time)
        let hasFlags = try await time.value(within: limit) { () async throws(ExperimentationError) in
            try await session.refreshUnlessDisabled()
        }
        if let hasFlags { return hasFlags }
        throw ExperimentationError(.timeout, "no file of campaigns has come within \(limit)")
    }

    /// Stores the visitor; after a failure, again with the flags that the visitor has.
    ///
    /// A look-up may have taken the visitor out of the application's cache.
    private func finishFetch(in session: UserSession, hasSucceeded: Bool) async {
        let owned = hasSucceeded ? session.decisionsOfUser : ownedDecisions
        if hasSucceeded || !owned.decisions.keys.isEmpty, let record = record(with: owned) {
            if hasSucceeded { reportFetch(record) }
            await flagship.store(record, in: session)
        }
        await sendContext(in: session)
    }

    /// Sends the visitor's context once in bucketing mode, where the vendor isn't asked for decisions.
    private func sendContext(in session: UserSession) async {
        guard flagship.options.mode == .bucketing else { return }
        // The context counts as sent from here on, so that only one of two concurrent fetches sends it.
        let unsent = state.withLock { state -> [String: FlagValue]? in
            let context = state.fullContext
            guard state.hasConsented, state.sentContext != context else { return nil }
            state.sentContext = context
            return context
        }
        guard let context = unsent else { return }
        do throws(ExperimentationError) {
            try await session.track(TrackingEvent(.native(FlagshipHit.segment(context).native)))
        } catch {
            state.withLock { if $0.sentContext == context { $0.sentContext = nil } }
            log.log(.error, .hit, "the context is left out: \(error)")
        }
    }

    /// Returns the visitor with these flags, for a run without the vendor, and adds their variations to its history.
    ///
    /// The history keeps a group's first variation; the record has the current one.
    ///
    /// - Returns: The record; `nil` without consent, and if the flags are another visitor's, from before signing in or
    ///   out.
    private func record(with owned: OwnedDecisions) -> FlagshipVisitorRecord? {
        var flags: [String: (value: FlagValue, metadata: FlagshipFlagMetadata)] = [:]
        var current: [String: String] = [:]
        for key in owned.decisions.keys {
            guard let flag = owned.decisions[key] else { continue }
            let metadata = FlagshipFlagMetadata(flag.metadata)
            flags[key] = (flag.value, metadata)
            current[metadata.variationGroupId] = metadata.variationId
        }
        return state.withLock { [flags, current] state in
            guard state.hasConsented, owned.user == state.identity else { return nil }
            let known = state.history[ExactText(owned.user.id), default: [:]]
            state.history[ExactText(owned.user.id)] = known.merging(current) { earlier, _ in earlier }
            return FlagshipVisitorRecord(
                visitorID: owned.user.id,
                anonymousID: owned.user.anonymousID,
                context: state.fullContext,
                assignments: known.merging(current) { $1 },
                flags: flags
            )
        }
    }

    // MARK: Hits

    /// Queues a hit, to be sent with others.
    ///
    /// - Returns: Whether it was accepted. It isn't before the start, during a panic, without consent, or if the
    ///   collector would refuse it. The log says why.
    @discardableResult
    public func sendHit(_ hit: FlagshipHit) async -> Bool {
        guard let session, flagship.isActive else {
            log.log(.info, .hit, "the hit is left out while the status is \(flagship.status.rawValue)")
            return false
        }
        guard hasConsented else {
            // The session may not know of a withdrawal yet.
            log.log(.info, .hit, "the hit is left out: the visitor hasn't consented")
            return false
        }
        do throws(ExperimentationError) {
            try await session.track(TrackingEvent(.native(hit.native)))
            report(.hit) { FlagshipReport.fields(of: hit.fields, under: "hit") }
            return true
        } catch {
            log.log(error.code == .consentDenied ? .info : .error, .hit, "the hit is left out: \(error)")
            return false
        }
    }

    // MARK: Reading

    /// The flags as currently read.
    ///
    /// There are none before the start, nor from a panic until a fetch succeeds. Before the first fetch, they are an
    /// earlier run's.
    var decisions: Decisions { ownedDecisions.decisions }

    private var ownedDecisions: OwnedDecisions {
        guard let session, flagship.isActive else {
            return (.none, state.withLock { $0.identity })
        }
        return state.withLock { $0.held } ?? session.decisionsOfUser
    }

    /// Returns a flag by its key; an unknown one reads as its default.
    public func flag(_ key: String) -> FlagshipFlag { FlagshipFlag(key: key, visitor: self) }

    /// Returns all current flags.
    public func flags() -> FlagshipFlagCollection {
        FlagshipFlagCollection(keys: decisions.keys, visitor: self)
    }
}
