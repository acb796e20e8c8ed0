import Synchronization

/// Carrying statements into the store.
///
/// Callers are answered while the next transaction is under way: resuming many of them takes as long as writing their
/// events. They are still answered in the order of their statements. Events that arrive until that transaction ends
/// join it, if the store can take them.
extension Intake {
    /// What a transaction has stored, and who is to be told.
    struct Stored {
        var answers: [(Answer, Answer.Outcome)] = []
        var accepted: [NewEvent] = []
        var hasReleased = false
    }

    /// Carries the line into the store until it is empty; with an answer, until that statement is stored.
    ///
    /// - Parameter answer: The answer to the caller's own statement.
    func carry(for answer: Answer? = nil) async {
        while true {
            let entries = state.withLock { state in
                let entries = state.line.take(atMost: Self.mostAtOnce)
                if entries.isEmpty { state.isCarried = false }
                return entries
            }
            if entries.isEmpty { return }
            if let (rest, failure) = await store(Self.joined(entries)) {
                return await stop(rest, failure)
            }
            guard let answer, entries.contains(where: { $0.answer === answer }) else { continue }
            return handOver()
        }
    }

    /// Hands over the line: a caller that waits for its own statement doesn't keep carrying those of others.
    ///
    /// The next caller does it, which saves a change of task. Where many wait, a separate task does it, because
    /// otherwise there would be a change of task between any two transactions.
    private func handOver() {
        let (next, count) = state.withLock { state in
            state.isCarried = !state.line.isEmpty
            return (state.line.first, state.line.count)
        }
        guard let next else { return }
        if !next.isNoted, count <= Self.few { return next.answer.askToCarry() }
        // Run where the store works, and ahead of the callers that were answered before: the disk is idle until the
        // next transaction.
        Task(executorPreference: store.executor, priority: .userInitiated) { await self.carry() }
    }

    /// Stores statements in order: consecutive events in one transaction, changes of consent in another.
    ///
    /// - Parameter entries: The statements.
    /// - Returns: What couldn't be stored, and why; `nil` if everything was.
    private func store(_ entries: [Entry]) async -> (ArraySlice<Entry>, ExperimentationError)? {
        var rest = entries[...]
        while let first = rest.first {
            let run = rest.prefix { $0.statement.kind == first.statement.kind }
            // What arrives comes after everything that was taken before.
            let arriving = ArrivingEntries(in: self, atMost: run.count == rest.count ? Self.mostAtOnce - run.count : 0)
            do throws(ExperimentationError) {
                let stored =
                    switch first.statement.kind {
                    case .event: try await append(run, arriving)
                    case .consent: try await change(run)
                    case .mark: Stored(answers: run.map { ($0.answer, .success(ConsentOutcome())) })
                    }
                await told()
                rest = rest.dropFirst(run.count)
                let next = rest.count + state.withLock { $0.line.count }
                if max(next, stored.answers.count) <= Self.few {
                    tell(stored)
                } else {
                    state.withLock { $0.telling = Task { tell(stored) } }
                    // Those callers' next events join the transaction instead of waiting for it.
                    if next < stored.answers.count / 2 { await told() }
                }
            } catch {
                await told()
                return (rest + arriving.entries, error)
            }
        }
        return nil
    }

    /// Waits until the callers of the previous transaction are told.
    private func told() async { await state.withLock { $0.telling.take() }?.value }

    /// Tells callers that their statements are stored, then the destinations.
    private func tell(_ stored: Stored) {
        for (answer, outcome) in stored.answers { answer.give(outcome) }
        if !stored.accepted.isEmpty { self.stored(stored.accepted) }
        if stored.hasReleased { self.stored([]) }
    }

    private func append(
        _ run: ArraySlice<Entry>,
        _ arriving: ArrivingEntries
    ) async throws(ExperimentationError) -> Stored {
        var run = await admitted(run)
        var events = run.compactMap(\.statement.event)
        var stored = Stored()
        if events.isEmpty { return stored }
        let first = events.count
        let more: @Sendable (Int) -> [NewEvent] = { arriving.events(after: $0 - first) }
        var refusals = try await store.append(events, joinedBy: more, now: environment.time.now)
        run += arriving.entries
        events += arriving.events
        guard refusals.count == events.count else {
            throw ExperimentationError(.store, "The store answered for \(refusals.count) of \(events.count) events.")
        }
        stored.hasReleased = await grant(withRefused: events, &refusals)
        stored.accepted.reserveCapacity(events.count)
        stored.answers.reserveCapacity(events.count)
        for (entry, (event, refusal)) in zip(run, zip(events, refusals)) {
            guard let refusal else {
                stored.accepted.append(event)
                stored.answers.append((entry.answer, .success(ConsentOutcome())))
                continue
            }
            logRefusal(of: entry, refusal)
            stored.answers.append((entry.answer, .failure(refusal)))
        }
        return stored
    }

    /// Logs that an event isn't accepted, if no caller waits for the answer.
    func logRefusal(of entry: Entry, _ refusal: ExperimentationError) {
        guard entry.isNoted, entry.statement.event != nil, refusal.code != .consentDenied else { return }
        environment.log.log(.error, "outbox.refused", "A noted event can't be stored: \(refusal)")
    }

    // MARK: Failures

    /// Empties the line, because the store failed.
    ///
    /// Waiting callers get the error at once, instead of one after another. Noted entries wait for the next caller, and
    /// denials that the store couldn't record are owed.
    private func stop(_ rest: ArraySlice<Entry>, _ failure: ExperimentationError) async {
        // What was refused before the transaction stays refused.
        let failed = (rest + state.withLock { $0.line.takeAll() }).filter { !$0.answer.isGiven }
        let denials = failed.filter(\.statement.isDenial)
        owed.hold(denials.compactMap(\.statement.change?.userID))
        for entry in failed where !entry.mayWait && !entry.statement.isDenial { entry.answer.give(.failure(failure)) }
        // Once a denial is answered, the next run knows of it as well, if anything can be written.
        await owed.note(denials.compactMap(\.statement.change?.userID))
        for entry in denials { entry.answer.give(.failure(failure)) }
        let (noted, removed) = Self.noted(in: failed)
        let (lost, hasMore) = state.withLock { state in
            // What was noted waits for the next statement, if there can be one: trying it at once would spin for as
            // long as the store fails.
            let staying = state.isClosed ? 0 : Self.mostNoted
            let hasMore = !state.line.isEmpty
            state.line.putBack(noted.prefix(staying))
            state.isCarried = hasMore
            return (noted.dropFirst(staying), hasMore)
        }
        if !noted.isEmpty {
            let loss = lost.isEmpty ? "" : ", and \(lost.count) are lost"
            environment.log.log(
                .error,
                "outbox.refused",
                "Noted events can't be stored at the moment\(loss): \(failure)"
            )
        }
        for entry in lost { entry.answer.give(.failure(failure)) }
        for entry in removed { entry.answer.give(.failure(.consentDenied)) }
        // What failed may have been done nevertheless: only a run of deliveries can tell whether it released anything.
        stored([])
        if hasMore { Task { await carry() } }
    }

    /// The noted events of a line that failed, apart from those that a denial behind them removes: stored later, they
    /// would come after the denial, and end it if they carry consent.
    private static func noted(in failed: [Entry]) -> (staying: [Entry], removed: [Entry]) {
        var (staying, removed): ([Entry], [Entry]) = ([], [])
        var denying: Set<ExactText> = []
        for entry in failed.reversed() {
            if entry.statement.isDenial, let userID = entry.statement.change?.userID {
                denying.insert(ExactText(userID))
            } else if entry.mayWait, let envelope = entry.statement.event?.envelope {
                let isRemoved = !envelope.event.isConsentSignal && denying.contains(ExactText(envelope.identity.id))
                if isRemoved { removed.append(entry) } else { staying.append(entry) }
            }
        }
        return (staying.reversed(), removed.reversed())
    }
}

extension Intake.Statement {
    enum Kind { case event, consent, mark }

    var kind: Kind {
        switch self {
        case .event: .event
        case .consent: .consent
        case .mark: .mark
        }
    }

    var event: NewEvent? { if case .event(let event) = self { event } else { nil } }
    var change: ConsentChange? { if case .consent(let change) = self { change } else { nil } }
    var isDenial: Bool { change?.isGranted == false }

    /// The user whose consent it states.
    var consenting: String? {
        switch self {
        case .event(let event): event.grantsConsent ? event.envelope.identity.id : nil
        case .consent(let change): change.isGranted ? change.userID : nil
        case .mark: nil
        }
    }
}
