/// Consent: its changes, and events that state it or depend on it.
extension Intake {
    /// Carries out the grants of events that the store refused for another reason, and accepts what those users did
    /// afterwards, for a store that grants nothing with an event that it refuses.
    ///
    /// If the store fails, only these events fail: the others are stored already, and would be stored a second time.
    ///
    /// - Returns: Whether held events may have been released.
    func grant(withRefused events: [NewEvent], _ refusals: inout [ExperimentationError?]) async -> Bool {
        var changes: [ExactText: ConsentChange] = [:]
        var granting: [Int] = []
        var later: [Int] = []
        for (index, (event, refusal)) in zip(events, refusals).enumerated() {
            guard let refusal else { continue }
            let user = ExactText(event.envelope.identity.id)
            if refusal.code == .consentDenied {
                if changes[user] != nil { later.append(index) }
            } else if event.grantsConsent {
                changes[user] = ConsentChange(userID: user.text, isGranted: true)
                granting.append(index)
            }
        }
        if changes.isEmpty { return false }
        var open = granting + later
        do throws(ExperimentationError) {
            _ = try await store.setConsent(Array(changes.values))
            open = later
            if later.isEmpty { return true }
            let answers = try await store.append(later.map { events[$0] }, now: environment.time.now)
            for (index, answer) in zip(later, answers) { refusals[index] = answer }
        } catch {
            for index in open { refusals[index] = error }
        }
        // The store doesn't say what it has released with the events; and what failed may have been done nevertheless.
        return true
    }

    /// Leaves out the statements of users whose denial is owed, unless that can be settled now.
    ///
    /// The other statements don't fail with these: the obstacle may concern a single user.
    func admitted(_ run: ArraySlice<Entry>) async -> ArraySlice<Entry> {
        if owed.areNone { return run }
        var admitted: ArraySlice<Entry> = []
        for entry in run {
            do throws(ExperimentationError) {
                try await settleDenial(before: entry.statement)
                admitted.append(entry)
            } catch {
                logRefusal(of: entry, error)
                entry.answer.give(.failure(error))
            }
        }
        return admitted
    }

    /// Ends the denial that is owed to a user who consents again, so that the remaining events stay, or carries it out
    /// before another event of its user.
    private func settleDenial(before statement: Statement) async throws(ExperimentationError) {
        if let userID = statement.consenting {
            try await owed.end(userID)
        } else if let envelope = statement.event?.envelope, envelope.isStopped(by: owed.users) {
            try await owed.carryOut(envelope.identity.id)
        }
    }

    func change(_ run: ArraySlice<Entry>) async throws(ExperimentationError) -> Stored {
        let run = await admitted(run)
        let changes = run.compactMap(\.statement.change)
        if changes.isEmpty { return Stored() }
        let denying = owed.users
        let outcome = try await store.setConsent(changes)
        for change in changes where !change.isGranted && denying.contains(ExactText(change.userID)) {
            // If that fails, the denial is carried out once more.
            try? await owed.end(change.userID)
        }
        return Stored(answers: run.map { ($0.answer, .success(outcome)) }, hasReleased: outcome.released > 0)
    }
}
