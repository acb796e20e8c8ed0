import Foundation
import Synchronization

extension UserSession {
    /// Accepts an event, to be delivered at least once.
    ///
    /// Once this returns, the event survives whatever the client's store survives. It is delivered later, by the
    /// vendor's batch policy, in the order of this user's events.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - date: When it happened; now if `nil`.
    ///   - surface: The part of the application it happened in, for campaigns to be shown there.
    /// - Throws: ``ErrorCode/unsupported`` if the vendor has no word for it, ``ErrorCode/invalidArgument``,
    ///   ``ErrorCode/consentDenied``, ``ErrorCode/outboxFull`` or ``ErrorCode/cancelled`` by ``BackPressure``,
    ///   ``ErrorCode/tooLarge``, ``ErrorCode/store``, ``ErrorCode/shutDown``. The ledger is then unchanged, except that
    ///   after ``ErrorCode/store`` the event may have been stored nevertheless; it is then delivered.
    public func track(
        _ event: TrackingEvent,
        at date: Date? = nil,
        on surface: String? = nil
    ) async throws(ExperimentationError) {
        _ = try await trackWithID(event, at: date, on: surface)
    }

    /// Accepts an event as ``track(_:at:on:)`` does, and returns the id under which it waits.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - date: When it happened; now if `nil`.
    ///   - surface: The part of the application it happened in.
    /// - Returns: The event's id; ``Envelope/id`` in ``ExperimentationClient/waitingEvents(after:limit:)``.
    /// - Throws: As ``track(_:at:on:)``.
    public func trackWithID(
        _ event: TrackingEvent,
        at date: Date? = nil,
        on surface: String? = nil
    ) async throws(ExperimentationError) -> String {
        do throws(ExperimentationError) {
            try check(event)
        } catch  where error.code == .consentDenied {
            try await untilDenied()
            throw error
        }
        let enter = { [core] in self.place(event, at: date, on: surface) { core.outbox.enter($0, consent: $1) } }
        let (envelope, ticket): (Envelope, Intake.Ticket)
        if let brake = core.brake, !event.isConsentSignal {
            (envelope, ticket) = try await brake.pass(core.waitingForDelivery, enter)
        } else {
            (envelope, ticket) = enter()
        }
        try await outcome(of: envelope, ticket)
        return envelope.id
    }

    /// Waits until the store has an event, or has refused it.
    func outcome(of envelope: Envelope, _ ticket: Intake.Ticket) async throws(ExperimentationError) {
        do throws(ExperimentationError) {
            try await core.outbox.outcome(of: ticket)
        } catch {
            giveBack(envelope.attributeChanges)
            throw error
        }
    }

    /// Tracks an event without waiting; it is accepted shortly afterwards, in the order of the calls.
    ///
    /// The event, the user and the surface are taken as they are now. Prefer ``track(_:at:on:)``: this one is lost if
    /// the process dies before the store has it, and a store that fails is only logged; ``ExperimentationClient/untilStored()``
    /// waits for both.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - date: When it happened; now if `nil`.
    ///   - surface: The part of the application it happened in.
    /// - Throws: ``ErrorCode/unsupported``, ``ErrorCode/invalidArgument``, ``ErrorCode/consentDenied``,
    ///   ``ErrorCode/shutDown``.
    public func trackSoon(
        _ event: TrackingEvent,
        at date: Date? = nil,
        on surface: String? = nil
    ) throws(ExperimentationError) {
        try trackSoon(event, at: date, on: surface, targets: nil)
    }

    /// Tracks an event as ``trackSoon(_:at:on:)`` does, for adapters that capture events before a session takes them.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - date: When it happened; now if `nil`.
    ///   - surface: The part of the application it happened in.
    ///   - targets: The targets of the surface that had campaign handlers, sorted; those of now if `nil`.
    /// - Throws: As ``trackSoon(_:at:on:)``.
    package func trackSoon(
        _ event: TrackingEvent,
        at date: Date?,
        on surface: String?,
        targets: [String]?
    ) throws(ExperimentationError) {
        try check(event)
        let (envelope, isNoted) = place(event, at: date, on: surface, targets) { core.outbox.note($0, consent: $1) }
        if isNoted { return }
        giveBack(envelope.attributeChanges)
        throw .shutDown
    }

    /// Checks an event and its user before anything is accepted.
    private func check(_ event: TrackingEvent) throws(ExperimentationError) {
        guard core.roles.takesEvents else { throw .unsupported("events", by: core.provider.name) }
        try event.validate()
        try core.check(event)
        let user = user
        try user.validate()
        if user.consent == .denied, !event.isConsentSignal { throw .consentDenied }
    }

    /// Wraps an event in an envelope and queues it for the store, both under the session's lock, so that later changes
    /// of consent are queued behind it.
    private func place<Ticket: Sendable>(
        _ event: TrackingEvent,
        at date: Date?,
        on surface: String?,
        _ targets: [String]? = nil,
        _ enter: (Envelope, Consent) -> Ticket
    ) -> (Envelope, Ticket) {
        // Both are the application's code, and so not called under the lock.
        let (eventID, date) = (core.environment.makeID(), date ?? core.environment.time.now)
        return state.withLock { place(event, eventID, at: date, on: surface, targets, of: &$0, enter) }
    }

    /// Wraps an event in an envelope and queues it for the store; called under the session's lock.
    func place<Ticket: Sendable>(
        _ event: TrackingEvent,
        _ eventID: String,
        at date: Date,
        on surface: String?,
        _ targets: [String]? = nil,
        of state: inout State,
        _ enter: (Envelope, Consent) -> Ticket
    ) -> (Envelope, Ticket) {
        if core.roles.campaigns != nil { state.epochs.remember(state.board.epoch(of: surface), of: eventID) }
        let targets = targets ?? state.board.targets(surface: surface)
        let envelope = Envelope(
            id: eventID,
            identity: state.user.identity,
            session: id,
            surface: surface,
            campaignTargets: targets.isEmpty ? nil : targets,
            event: event,
            date: date,
            attributeChanges: event.carriesAttributeChanges ? state.takeChanges() : [:]
        )
        // Before the event, which depends on it.
        restateConsent(of: &state)
        return (envelope, enter(envelope, state.user.consent))
    }

    /// Restores attribute changes whose event was not accepted, beneath what has changed since.
    private func giveBack(_ changes: Attributes) {
        state.withLock { $0.pendingChanges = changes.merging($0.pendingChanges) }
    }

    // MARK: Exposures

    /// Records that the user saw the variation of an experiment, whatever the exposure policy, at most once in a
    /// session.
    ///
    /// It is stored shortly afterwards, like an exposure from a read. Once ``ExperimentationClient/untilStored()``
    /// returns, it survives the end of the process.
    ///
    /// - Parameter experiment: The experiment's id or name.
    /// - Throws: ``ErrorCode/invalidArgument`` if the user isn't assigned to it; ``ErrorCode/unsupported`` if the
    ///   vendor takes no exposures.
    public func expose(_ experiment: String) throws(ExperimentationError) {
        let decisions = decisions
        let catalogue = decisions.catalogue
        let place = decisions.assignmentIndices.first { index in
            let assignment = catalogue.assignments[index]
            return assignment.experiment.id == experiment || assignment.experiment.name == experiment
        }
        guard let place else {
            throw ExperimentationError(.invalidArgument, "The user has no place in the experiment \"\(experiment)\".")
        }
        try core.checkExposure(of: catalogue.assignments[place])
        record(catalogue.assignments[place], at: place, key: nil, value: nil, default: nil, isRepeatable: false)
    }

    /// Records the exposure that follows from a read.
    ///
    /// - Parameters:
    ///   - place: The assignment's index in the catalogue.
    ///   - catalogue: The catalogue of the decisions that were read; the session's current ones may be others by now.
    ///   - key: The flag.
    ///   - value: Its value; `nil` if the variation has none for it.
    ///   - defaultValue: The caller's default.
    @inline(never)
    func recordExposure(
        at place: Int,
        of catalogue: FlagCatalogue,
        key: String,
        value: FlagValue?,
        default defaultValue: FlagValue
    ) {
        record(
            catalogue.assignments[place],
            at: place,
            key: key,
            value: value,
            default: defaultValue,
            isRepeatable: core.options.exposurePolicy == .everyRead
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
        guard core.roles.takesEvents else { return mark(assignment, at: place) }
        let exposure = Exposure(of: assignment, through: key, value: value, default: defaultValue)
        let event = TrackingEvent(.exposure(exposure))
        guard core.takesExposure(event) else { return mark(assignment, at: place) }
        // One place decides whether it is new; the snapshot's mark only saves the detour.
        let sight = state.withLock { state -> (isRecorded: Bool, told: FlagSight?) in
            guard state.user.consent != .denied else { return (false, nil) }
            return core.sight(exposure, of: state.user, isRepeatable: isRepeatable) {
                state.recorded.insert($0).inserted
            }
        }
        if let told = sight.told { core.roles.flagSeen?(told) }
        guard sight.isRecorded else { return }
        if !core.options.exposureObservers.isEmpty {
            let user = user
            let provider = core.provider.name
            for observer in core.options.exposureObservers { observer.exposed(exposure, of: user, by: provider) }
        }
        mark(assignment, at: place)
        let (_, isNoted) = self.place(event, at: nil, on: nil) { core.outbox.note($0, consent: $1) }
        if !isNoted { core.outbox.logLateExposure() }
    }

    private func mark(_ assignment: Assignment, at place: Int) {
        // A provider that records each flag also needs the variation's other flags.
        if core.roles.flagSeen != nil { return }
        let snapshot = snapshots.current
        let assignments = snapshot.decisions.catalogue.assignments
        let isThere = assignments.indices.contains(place) && assignments[place] == assignment
        // Other decisions may have come since the read, where it has another place or none.
        if let place = isThere ? place : assignments.firstIndex(of: assignment) { snapshot.marks.insert(place) }
    }
}
