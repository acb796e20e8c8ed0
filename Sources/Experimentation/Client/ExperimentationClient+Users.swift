import Foundation

/// What a server does for one user at a time, without a session: each call is complete in itself.
extension ExperimentationClient {
    /// Whether the vendor takes an event as it is: it has a word for it, and nothing in it makes no sense.
    ///
    /// What isn't supported is refused by ``UserSession/track(_:at:on:)`` with the reason; here nothing is accepted.
    public func supports(_ event: TrackingEvent) -> Bool {
        (try? event.validate()) != nil && (try? core.check(event)) != nil
    }

    /// Whether the vendor takes a kind of event, for those whose content isn't known yet: an exposure, for example.
    public func supports(_ capability: Capability) -> Bool { capabilities.contains(capability) }

    /// Accepts an event of a user, to be delivered at least once.
    ///
    /// The user's attributes go with it, for vendors that learn of them from events. What the user says of being tracked
    /// counts as said with it: granted releases what is held of theirs.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - user: Who did it.
    ///   - date: When; now if `nil`.
    /// - Returns: The event's id; ``Envelope/id`` in ``waitingEvents(after:limit:)``.
    /// - Throws: As ``UserSession/track(_:at:on:)``.
    @discardableResult
    public func track(
        _ event: TrackingEvent,
        for user: User,
        at date: Date? = nil
    ) async throws(ExperimentationError) -> String {
        let envelope = Envelope(
            id: core.environment.makeID(),
            identity: user.identity,
            event: event,
            date: date ?? core.environment.time.now,
            attributeChanges: user.attributes
        )
        try user.validate()
        try await core.accept(envelope, consent: user.consent)
        return envelope.id
    }

    /// Accepts an event that was accepted elsewhere before, as it was.
    package func accept(_ envelope: Envelope, consent: Consent) async throws(ExperimentationError) {
        try await core.accept(envelope, consent: consent)
    }

    /// Gives or withdraws a user's consent, as ``UserSession/setConsent(_:)`` does.
    ///
    /// - Parameters:
    ///   - consent: What the user says.
    ///   - user: Who says it; what ``User/consent`` holds is not looked at.
    /// - Throws: As ``UserSession/setConsent(_:)``.
    public func setConsent(_ consent: Consent, for user: User) async throws(ExperimentationError) {
        var undecided = user
        undecided.consent = .unknown
        try await session(for: undecided).setConsent(consent)
    }

    /// Has the vendor join what it knows of two users, as ``UserSession/link(to:criteria:)`` does.
    ///
    /// - Parameters:
    ///   - user: The user so far.
    ///   - identity: Who it is now.
    ///   - criteria: What the vendor finds the user by, where that isn't the id.
    /// - Returns: The ids that the vendor goes by from now on.
    /// - Throws: As ``UserSession/link(to:criteria:)``.
    @discardableResult
    public func link(
        _ user: User,
        to identity: Identity,
        criteria: [String: String] = [:]
    ) async throws(ExperimentationError) -> Identity {
        try await session(for: user).link(to: identity, criteria: criteria)
    }
}
