import Synchronization

/// Exposures: each variation that a user sees is recorded once in a session, unless the policy says otherwise.
extension UserSession {
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
    ///   - catalogue: The catalogue of the decisions that were read; the session may have other decisions by now.
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
        // Only `see` decides whether the exposure is new; the snapshot's mark merely saves the detour.
        guard see(exposure, isRepeatable: isRepeatable) else { return }
        if !core.options.exposureObservers.isEmpty {
            let user = user
            let provider = core.provider.name
            for observer in core.options.exposureObservers { observer.exposed(exposure, of: user, by: provider) }
        }
        mark(assignment, at: place)
        let (_, isNoted) = self.place(event, at: nil, on: nil) { core.outbox.note($0, consent: $1) }
        if !isNoted { core.outbox.logLateExposure() }
    }

    /// Records an exposure for an adapter that reads flags by rules of its own.
    ///
    /// - Parameters:
    ///   - exposure: What the user saw.
    ///   - viewer: The user, as reported to a provider that wants to know of each flag.
    ///   - attributes: The event's attributes.
    ///   - isRepeatable: Whether to record it even if the session has recorded it before.
    /// - Returns: Whether it was recorded.
    /// - Throws: As ``trackSoon(_:at:on:)``; the exposure may then be recorded another time.
    package func expose(
        _ exposure: Exposure,
        to viewer: User,
        attributes: Attributes,
        isRepeatable: Bool
    ) throws(ExperimentationError) -> Bool {
        guard see(exposure, as: viewer, isRepeatable: isRepeatable) else { return false }
        do throws(ExperimentationError) {
            try trackSoon(TrackingEvent(.exposure(exposure), attributes: attributes))
        } catch {
            let key = ExposureKey(userID: viewer.id, assignment: exposure.assignment)
            _ = state.withLock { $0.recorded.remove(key) }
            throw error
        }
        return true
    }

    /// Forgets which exposures of a user were recorded, because the user has withdrawn consent.
    ///
    /// A denial in this session does so by itself; this is for adapters that carry out a denial elsewhere.
    package func forgetExposures(of userID: String) {
        let user = ExactText(userID)
        state.withLock { state in state.recorded = state.recorded.filter { $0.userID != user } }
    }

    /// Remembers what a user saw, and tells a provider that wants to know of each flag.
    ///
    /// - Parameters:
    ///   - exposure: What was seen.
    ///   - viewer: The user; the session's own if `nil`.
    ///   - isRepeatable: Whether to record it even if it has been recorded before.
    /// - Returns: Whether it is to be recorded; never if the session's user denies consent.
    private func see(_ exposure: Exposure, as viewer: User? = nil, isRepeatable: Bool) -> Bool {
        let sight = state.withLock { state -> (isRecorded: Bool, told: FlagSight?) in
            guard state.user.consent != .denied else { return (false, nil) }
            return core.sight(exposure, of: viewer ?? state.user, isRepeatable: isRepeatable) {
                state.recorded.insert($0).inserted
            }
        }
        if let told = sight.told { core.roles.flagSeen?(told) }
        return sight.isRecorded
    }

    private func mark(_ assignment: Assignment, at place: Int) {
        // A provider that records each flag also needs the variation's other flags.
        if core.roles.flagSeen != nil { return }
        let snapshot = snapshots.current
        let assignments = snapshot.decisions.catalogue.assignments
        let isThere = assignments.indices.contains(place) && assignments[place] == assignment
        // Other decisions may have come since the read, in which the assignment has another place or none.
        if let place = isThere ? place : assignments.firstIndex(of: assignment) { snapshot.marks.insert(place) }
    }
}
