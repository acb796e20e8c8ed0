import Foundation

/// Tracking, consent and linking for one user at a time without a session, as on a server; each call is complete in
/// itself.
extension ExperimentationClient {
    /// Whether the vendor takes an event as it is: the vendor has an equivalent, and the content is valid.
    ///
    /// ``UserSession/track(_:at:on:)`` refuses an unsupported event with the reason; this call accepts nothing.
    public func supports(_ event: TrackingEvent) -> Bool {
        (try? event.validate()) != nil && (try? core.check(event)) != nil
    }

    /// Whether the vendor takes a kind of event whose content isn't known yet, such as an exposure.
    public func supports(_ capability: Capability) -> Bool { capabilities.contains(capability) }

    /// Accepts an event of a user, to be delivered at least once.
    ///
    /// The event carries the user's attributes, for vendors that learn of them from events. ``User/consent`` counts as
    /// stated with the call unless `isConsentStated` is `false`: granted consent releases the user's held events and
    /// ends a denial.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - user: Who did it.
    ///   - date: When it happened; now if `nil`.
    ///   - id: The event's id, if the caller has one to recognize repetitions by; a new one if `nil`. The store doesn't
    ///     look for duplicates.
    ///   - isConsentStated: Whether ``User/consent`` is the user's own choice. If not, as for a server's default,
    ///     granted consent keeps this event from being held but releases no other, and after a denial the event is
    ///     refused.
    /// - Returns: The event's id; ``Envelope/id`` in ``waitingEvents(after:limit:)``.
    /// - Throws: As ``UserSession/track(_:at:on:)``.
    @discardableResult
    public func track(
        _ event: TrackingEvent,
        for user: User,
        at date: Date? = nil,
        id: String? = nil,
        isConsentStated: Bool = true
    ) async throws(ExperimentationError) -> String {
        let envelope = Envelope(
            id: id ?? core.environment.makeID(),
            identity: user.identity.identified,
            event: event,
            date: date ?? core.environment.time.now,
            attributeChanges: event.carriesAttributes ? user.attributes : [:]
        )
        try user.validate()
        try await core.accept(envelope, consent: user.consent, isStated: isConsentStated)
        return envelope.id
    }

    /// Accepts, unchanged, an event that was accepted elsewhere before.
    ///
    /// The consent isn't the user's own choice here: granted consent keeps this event from being held but releases no
    /// other, and after a denial the event is refused.
    package func accept(_ envelope: Envelope, consent: Consent) async throws(ExperimentationError) {
        try await core.accept(envelope, consent: consent, isStated: false)
    }

    /// Gives or withdraws a user's consent, as ``UserSession/setConsent(_:)`` does.
    ///
    /// - Parameters:
    ///   - consent: The user's choice.
    ///   - user: Whose choice it is; ``User/consent`` is ignored.
    /// - Throws: As ``UserSession/setConsent(_:)``.
    public func setConsent(_ consent: Consent, for user: User) async throws(ExperimentationError) {
        var undecided = user
        undecided.consent = .unknown
        try await session(for: undecided).setConsent(consent)
    }

    /// Asks the vendor to link two users, as ``UserSession/link(to:criteria:)`` does.
    ///
    /// - Parameters:
    ///   - user: The user so far.
    ///   - identity: The user's new identity.
    ///   - criteria: The facts by which the vendor finds the user, where that isn't the id.
    /// - Returns: The ids that the vendor uses from now on.
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
