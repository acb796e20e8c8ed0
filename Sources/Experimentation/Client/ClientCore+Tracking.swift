import Synchronization

extension ClientCore {
    /// The number of events that wait for delivery, without those held for consent.
    func waitingForDelivery() async throws(ExperimentationError) -> Int { try await outbox.status().deliverable }

    /// Lets the provider read what its check of an event depends on.
    func prepare(for event: TrackingEvent) async throws(ExperimentationError) {
        if let prepare = roles.prepare { try await prepare(event) }
    }

    /// Checks that a destination takes an event.
    func check(_ event: TrackingEvent) throws(ExperimentationError) { try roles.check(event, of: provider.name) }

    /// Whether the vendor supports an exposure; logs the first one that it doesn't.
    func takesExposure(_ event: TrackingEvent) -> Bool {
        do throws(ExperimentationError) {
            try check(event)
            return true
        } catch {
            if !hasToldOfExposures.exchange(true, ordering: .relaxed) {
                environment.log.log(
                    .warning,
                    "exposure.unsupported",
                    "Exposures are not recorded: \(error). Ask supports(_:) to know beforehand."
                )
            }
            return false
        }
    }

    /// Checks that the vendor supports the exposure of an assignment.
    func checkExposure(of assignment: Assignment) throws(ExperimentationError) {
        guard roles.takesEvents else { throw .unsupported("exposures", by: provider.name) }
        try check(TrackingEvent(.exposure(Exposure(assignment: assignment))))
    }

    /// Accepts an event of a user without a session.
    ///
    /// - Parameters:
    ///   - envelope: The event.
    ///   - consent: The user's consent.
    ///   - isStated: Whether the user stated it; otherwise it grants nothing.
    /// - Throws: What the store throws, and the reason why no destination takes the event.
    func accept(
        _ envelope: Envelope,
        consent: Consent,
        isStated: Bool = true
    ) async throws(ExperimentationError) {
        guard roles.takesEvents else { throw .unsupported("events", by: provider.name) }
        try envelope.event.validate()
        try envelope.attributeChanges.validate()
        try await prepare(for: envelope.event)
        try check(envelope.event)
        if consent == .denied, !envelope.event.isConsentSignal { throw .consentDenied }
        let place = { [outbox] in outbox.enter(envelope, consent: consent, isStated: isStated) }
        let ticket: Intake.Ticket
        if let brake, !envelope.event.isConsentSignal {
            ticket = try await brake.pass(waitingForDelivery, place)
        } else {
            ticket = place()
        }
        try await outbox.outcome(of: ticket)
    }

    /// Records the exposure of a user without a session, deduplicated or every time.
    ///
    /// - Parameters:
    ///   - exposure: The exposure.
    ///   - user: The user who was exposed.
    ///   - isRepeatable: Whether to record it even if it has been recorded before.
    ///   - isStated: Whether the user stated the consent; otherwise it grants nothing.
    func noteExposure(_ exposure: Exposure, _ user: User, isRepeatable: Bool, isStated: Bool = true) {
        guard user.consent != .denied, roles.takesEvents else { return }
        let event = TrackingEvent(.exposure(exposure))
        guard takesExposure(event) else { return }
        let sight = sight(exposure, of: user, isRepeatable: isRepeatable, insert: exposures.insert)
        if let told = sight.told { roles.flagSeen?(told) }
        guard sight.isRecorded else { return }
        for observer in options.exposureObservers { observer.exposed(exposure, of: user, by: provider.name) }
        let envelope = Envelope(
            id: environment.makeID(),
            identity: user.identity,
            event: event,
            date: environment.time.now
        )
        if !outbox.note(envelope, consent: user.consent, isStated: isStated) { outbox.logLateExposure() }
    }

    /// Decides whether to record an exposure.
    ///
    /// - Parameters:
    ///   - exposure: The exposure.
    ///   - user: The user who was exposed.
    ///   - isRepeatable: Whether to record it even if it has been recorded before.
    ///   - insert: Remembers an exposure or a flag, and returns whether it is new.
    /// - Returns: Whether to record it, and what to tell a provider that wants to know of each flag.
    func sight(
        _ exposure: Exposure,
        of user: User,
        isRepeatable: Bool,
        insert: (ExposureKey) -> Bool
    ) -> (isRecorded: Bool, told: FlagSight?) {
        let isRecorded = insert(ExposureKey(userID: user.id, assignment: exposure.assignment)) || isRepeatable
        guard roles.flagSeen != nil else { return (isRecorded, nil) }
        let flag = exposure.flagKey ?? ""
        let isNewFlag = insert(ExposureKey(userID: user.id, assignment: exposure.assignment, flag: flag))
        guard isRecorded || isNewFlag else { return (false, nil) }
        return (isRecorded, FlagSight(user: user, exposure: exposure, isRecorded: isRecorded))
    }
}

extension Exposure {
    /// Creates the exposure that follows from a read, without a default that no event can carry.
    ///
    /// A caller's default isn't checked, and an infinite one mustn't prevent the exposure. The value comes from the
    /// vendor and may be nested as deeply as the vendor's answer; without it, the variation would seem to have no
    /// value.
    package init(
        of assignment: Assignment,
        through flagKey: String?,
        value: FlagValue?,
        default defaultValue: FlagValue?
    ) {
        self.init(assignment: assignment, flagKey: flagKey, value: value)
        if let defaultValue, defaultValue.objection == nil { self.defaultValue = defaultValue }
    }
}
