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
    /// - Throws: ``ErrorCode/unsupported`` if the vendor has no equivalent, ``ErrorCode/invalidArgument``,
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
        try await core.prepare(for: event)
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
    /// The event, the user and the surface are taken as they are now. Prefer ``track(_:at:on:)``: an event tracked here
    /// is lost if the process dies before the store has it, and a failure of the store is only logged.
    /// ``ExperimentationClient/untilStored()`` waits until the store has it.
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
    ///   - targets: The targets of the surface that had campaign handlers, sorted; those that have them now if `nil`.
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
    func place<Ticket: Sendable>(
        _ event: TrackingEvent,
        at date: Date?,
        on surface: String?,
        _ targets: [String]? = nil,
        _ enter: (Envelope, Consent) -> Ticket
    ) -> (Envelope, Ticket) {
        // Both call the application's code, so they aren't called under the lock.
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
        // Queue the consent before the event, which depends on it.
        restateConsent(of: &state)
        return (envelope, enter(envelope, state.user.consent))
    }

    /// Restores attribute changes whose event was not accepted; what has changed since takes precedence.
    private func giveBack(_ changes: Attributes) {
        state.withLock { $0.pendingChanges = changes.merging($0.pendingChanges) }
    }
}
