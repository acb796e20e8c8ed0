import Foundation
import Synchronization

extension UserSession {
    /// Accepts an event, to be delivered at least once.
    ///
    /// When this returns, the event survives whatever the client's store survives. It is delivered later, by the vendor's
    /// batch policy, in the order of this user's events.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - date: When; now if `nil`.
    ///   - surface: The part of the application it happened in, for campaigns that are to be shown there.
    /// - Throws: ``ErrorCode/unsupported`` if the vendor has no word for it, ``ErrorCode/invalidArgument``,
    ///   ``ErrorCode/consentDenied``, ``ErrorCode/tooLarge``, ``ErrorCode/store``, ``ErrorCode/shutDown``. The ledger is
    ///   untouched then.
    public func track(
        _ event: TrackingEvent,
        at date: Date? = nil,
        on surface: String? = nil
    ) async throws(ExperimentationError) {
        _ = try await accept(event, at: date, on: surface)
    }

    /// Accepts an event as ``track(_:at:on:)`` does, and says by which id it can be found while it waits.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - date: When; now if `nil`.
    ///   - surface: The part of the application it happened in.
    /// - Returns: The event's id; ``Envelope/id`` in ``ExperimentationClient/waitingEvents(after:limit:)``.
    /// - Throws: As ``track(_:at:on:)``.
    public func accept(
        _ event: TrackingEvent,
        at date: Date? = nil,
        on surface: String? = nil
    ) async throws(ExperimentationError) -> String {
        let user = try check(event)
        let envelope = envelope(event, at: date, surface: surface)
        let isHeld = core.holds(user.consent) && !event.isConsentSignal
        do throws(ExperimentationError) {
            try await core.outbox.accept(
                envelope,
                isHeld: isHeld,
                isGranted: user.consent == .granted,
                isWanted: isWanted(event, of: user.id)
            )
        } catch {
            giveBack(envelope.attributeChanges)
            throw error
        }
        try await letGo(of: user.id, ifHeld: isHeld)
        return envelope.id
    }

    /// Notes an event for callers who can't wait; it is accepted in a moment, in the order of the calls.
    ///
    /// The event, the user and the surface are taken as they are now. Prefer ``track(_:at:on:)``: what is noted is lost if
    /// the process dies before the store has it, and a store that fails is only logged.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - date: When; now if `nil`.
    ///   - surface: The part of the application it happened in.
    /// - Throws: ``ErrorCode/unsupported``, ``ErrorCode/invalidArgument``, ``ErrorCode/consentDenied``.
    public func note(
        _ event: TrackingEvent,
        at date: Date? = nil,
        on surface: String? = nil
    ) throws(ExperimentationError) {
        let user = try check(event)
        let isHeld = core.holds(user.consent) && !event.isConsentSignal
        core.outbox.note(
            envelope(event, at: date, surface: surface),
            isHeld: isHeld,
            isGranted: user.consent == .granted,
            isWanted: isWanted(event, of: user.id)
        )
        letGoSoon(of: user.id, ifHeld: isHeld)
    }

    /// Checks what can be checked of an event and its user.
    ///
    /// - Returns: The user as they are now.
    private func check(_ event: TrackingEvent) throws(ExperimentationError) -> User {
        guard let sink = core.roles.events else { throw .unsupported("events", by: core.provider.name) }
        try event.validate()
        try sink.check(event)
        let user = user
        try user.validate()
        if user.consent == .denied, !event.isConsentSignal {
            throw ExperimentationError(.consentDenied, "The user has denied consent; the event was not accepted.")
        }
        return user
    }

    /// Whether the user still agrees to an event, asked again when it is stored.
    private func isWanted(_ event: TrackingEvent, of userID: String) -> @Sendable () -> Bool {
        if event.isConsentSignal { return { true } }
        return { [self] in state.withLock { $0.user.id != userID || $0.user.consent != .denied } }
    }

    private func envelope(_ event: TrackingEvent, at date: Date?, surface: String?) -> Envelope {
        let eventID = core.environment.makeID()
        let (identity, changes) = state.withLock { state in
            defer { state.pendingChanges = [:] }
            if core.roles.campaigns != nil {
                // So many wait only while the vendor is away for long; what is dropped meanwhile never comes back to be
                // forgotten. Their campaigns count as after a start: for what is shown then.
                if state.epochs.count >= UserSession.mostEpochs { state.epochs = [:] }
                state.epochs[eventID] = state.board.epoch(of: surface)
            }
            return (state.user.identity, state.pendingChanges)
        }
        return Envelope(
            id: eventID,
            identity: identity,
            session: id,
            surface: surface,
            event: event,
            date: date ?? core.environment.time.now,
            attributeChanges: changes
        )
    }

    /// Puts attribute changes back whose event was not accepted, under what has changed since.
    private func giveBack(_ changes: Attributes) {
        state.withLock { $0.pendingChanges = changes.merging($0.pendingChanges) }
    }

    // MARK: Exposures

    /// Records that the user saw the variation of an experiment, whatever the exposure policy; at most once in a session.
    ///
    /// - Parameter experiment: The experiment's id or name.
    /// - Throws: ``ErrorCode/invalidArgument`` if the user has no place in it.
    public func expose(_ experiment: String) throws(ExperimentationError) {
        let catalogue = snapshots.current.decisions.catalogue
        let place = decisions.assignmentIndices.first { index in
            let assignment = catalogue.assignments[index]
            return assignment.experiment.id == experiment || assignment.experiment.name == experiment
        }
        guard let place else {
            throw ExperimentationError(.invalidArgument, "The user has no place in the experiment \"\(experiment)\".")
        }
        record(catalogue.assignments[place], at: place, key: nil, value: nil, default: nil, isRepeatable: false)
    }

    /// Records the exposure that a read has revealed, by the policy.
    @inline(never)
    func recordExposure(at place: Int, key: String, value: FlagValue, default defaultValue: FlagValue) {
        let policy = core.options.exposurePolicy
        guard policy != .manual else { return }
        let assignments = snapshots.current.decisions.catalogue.assignments
        guard assignments.indices.contains(place) else { return }
        record(
            assignments[place],
            at: place,
            key: key,
            value: value,
            default: defaultValue,
            isRepeatable: policy == .everyRead
        )
    }

    private func record(
        _ assignment: Assignment,
        at place: Int,
        key: String?,
        value: FlagValue?,
        default defaultValue: FlagValue?,
        isRepeatable: Bool
    ) {
        guard let sink = core.roles.events else { return mark(assignment, at: place) }
        let event = TrackingEvent(
            .exposure(Exposure(assignment: assignment, flagKey: key, value: value, defaultValue: defaultValue))
        )
        do throws(ExperimentationError) {
            try sink.check(event)
        } catch {
            core.environment.log.log(
                .debug,
                "exposure.unsupported",
                "\(core.provider.name) takes no exposures: \(error)"
            )
            return mark(assignment, at: place)
        }
        // Whether it is new is decided in one place; the snapshot's mark only spares the way here.
        let consent = state.withLock { state -> Consent? in
            guard state.user.consent != .denied else { return nil }
            let isNew = state.recorded.insert(ExposureKey(userID: state.user.id, assignment: assignment)).inserted
            return isNew || isRepeatable ? state.user.consent : nil
        }
        guard let consent else { return }
        mark(assignment, at: place)
        let envelope = envelope(event, at: nil, surface: nil)
        let userID = envelope.identity.id
        core.outbox.note(
            envelope,
            isHeld: core.holds(consent),
            isGranted: consent == .granted,
            isWanted: isWanted(event, of: userID)
        )
        letGoSoon(of: userID, ifHeld: core.holds(consent))
    }

    private func mark(_ assignment: Assignment, at place: Int) {
        let snapshot = snapshots.current
        let assignments = snapshot.decisions.catalogue.assignments
        if assignments.indices.contains(place), assignments[place] == assignment { snapshot.marks.insert(place) }
    }

    // MARK: Linking

    /// Makes this session's user a known one, and has the vendor join what it knows of both.
    ///
    /// Where that takes the vendor several steps, each is written down before the next, so that a linking that was
    /// interrupted is taken up by the next call for the same user, in a later run if need be. Where it takes none, this is
    /// ``identify(_:)``.
    ///
    /// - Parameters:
    ///   - identity: Who it is now.
    ///   - criteria: What the vendor finds the user by, where that isn't the id.
    /// - Returns: The ids that the vendor goes by from now on.
    /// - Throws: Why a step wasn't taken; calling again goes on from there.
    @discardableResult
    public func link(
        to identity: Identity,
        criteria: [String: String] = [:]
    ) async throws(ExperimentationError) -> Identity {
        guard let linker = core.roles.identity else {
            identify(identity)
            return identity
        }
        let from = user.identity
        let key = KeptState.Key.link(of: from.id)
        let stored = await core.kept.read(LinkProgress.self, key)
        var progress = stored ?? LinkProgress(from: from, to: identity, criteria: criteria)
        try await core.kept.require(progress, key)
        while !progress.isComplete {
            progress = try await linker.advance(progress)
            try await core.kept.require(progress, key)
        }
        identify(progress.to)
        await core.kept.write(bytes: nil, key)
        return progress.to
    }
}

extension TrackingEvent {
    /// Checks what makes no sense for any vendor.
    func validate() throws(ExperimentationError) {
        func refuse(_ message: String) -> ExperimentationError { ExperimentationError(.invalidArgument, message) }
        for (name, value) in attributes.values {
            if value.depth(upTo: EnvelopeCoding.maximumDepth) > EnvelopeCoding.maximumDepth {
                throw refuse("The attribute \"\(name)\" is nested deeper than \(EnvelopeCoding.maximumDepth) levels.")
            }
            if !value.isFinite { throw refuse("The attribute \"\(name)\" holds a number that isn't finite.") }
        }
        switch kind {
        case .custom(let name, let value):
            if name.isEmpty { throw refuse("A custom event needs a name.") }
            if let value, !value.isFinite { throw refuse("The value of \"\(name)\" must be finite.") }
        case .screenView(let name), .goalCompleted(let name), .goalAbandoned(let name):
            if name.isEmpty { throw refuse("An event of type \"\(type)\" needs a name.") }
        case .pageView(let url):
            if url.isEmpty { throw refuse("A page view needs a URL.") }
        case .sessionEnded(let seconds):
            if !seconds.isFinite || seconds < 0 { throw refuse("A session can't have lasted \(seconds) seconds.") }
        case .native(let event):
            let value = FlagValue.object(event.payload)
            if value.depth(upTo: EnvelopeCoding.maximumDepth) > EnvelopeCoding.maximumDepth || !value.isFinite {
                throw refuse("The event \"\(event.type)\" is nested too deep or holds a number that isn't finite.")
            }
        default: break
        }
    }
}
