import AdapterKit
import Experimentation
import Foundation

/// Delivers the client's events to the endpoint for behaviors.
struct EngageEventSink: EventSink {
    let connection: EngageConnection
    let profile: EngageProfile
    let translation: EngageTranslation
    let augmentation: AugmentationRun
    let completed: CompletedEvents
    let journal: EngageJournal
    let recipients: MobileIdentity

    var batching: BatchPolicy {
        let configuration = connection.configuration
        return BatchPolicy(
            count: configuration.batchSize,
            largest: 100,
            interval: configuration.batchInterval,
            attempts: configuration.networking.attempts,
            maximumAge: .seconds(86_400 * configuration.retentionDays)
        )
    }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        if case .consentChanged(let granted) = event.kind {
            if !granted, connection.configuration.recipients.optsOutOnDenial { return }
            throw ExperimentationError(
                .unsupported,
                "Engage has no word for consent; recipients.optsOutOnDenial makes a denial an opt-out"
            )
        }
        _ = try translation.knownDraft(of: event)
        for name in event.attributes.values.keys where name.isEmpty {
            throw ExperimentationError(.invalidArgument, "an attribute of a behaviour needs a name")
        }
    }

    /// The interface of a request; one takes as many behaviors as a delivery holds.
    enum Lane: DeliveryLane {
        case optOuts, behaviors

        var most: Int { self == .optOuts ? 1 : .max }
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        let plan = DeliveryPlan(batch) { envelope -> Lane in
            if case .consentChanged = envelope.event.kind { .optOuts } else { .behaviors }
        }
        return await plan.deliver { request in
            switch request.lane {
            case .optOuts:
                var verdicts: [Verdict?] = []
                for envelope in request.events { verdicts.append(await optOut(envelope.identity.id)) }
                return DeliveryReport(verdicts)
            case .behaviors: return await post(request.events)
            }
        }
    }

    /// An event and its kind of behavior.
    private typealias Behavior = (envelope: Envelope, draft: EngageTranslation.Draft)

    private func post(_ envelopes: [Envelope]) async -> DeliveryReport {
        let translated = TranslatedBatch(envelopes) { envelope throws(ExperimentationError) -> Behavior in
            (envelope, try translation.knownDraft(of: envelope.event))
        }
        return await translated.deliver { part in await post(part.forms) }
    }

    private func post(_ behaviors: [Behavior]) async -> DeliveryReport {
        let ids = behaviors.map { $0.envelope.id }
        completed.mark(ids, as: .processing)
        defer { completed.mark(ids, as: nil) }
        do throws(ExperimentationError) {
            try await prepare(behaviors.map { $0.envelope })
        } catch {
            return DeliveryReport(EngageErrors.verdict(on: error, after: nil))
        }
        guard let said = await complete(behaviors) else { return DeliveryReport(noAnswerTo: behaviors.count) }
        let verdict = await submit(behaviors, said: said)
        await remember(behaviors, verdict)
        return DeliveryReport(verdict)
    }

    /// Records outcomes that the outbox is about to forget.
    private func remember(_ batch: [Behavior], _ verdict: Verdict) async {
        let attempts = connection.configuration.networking.attempts
        let settled = batch.compactMap { envelope, draft -> EngageEvent? in
            var event = EngageEvent(id: envelope.id, type: draft.type, date: envelope.date, state: .failedPost)
            switch verdict {
            case .delivered: event.state = .successfullyPosted
            case .rejected(let reason),
                .failed(let reason) where envelope.attempts + 1 >= attempts:
                event.reason = reason.replacing(/[\t\n]/, with: " ")
            default: return nil
            }
            return event
        }
        completed.forget(settled.map(\.id))
        do throws(ExperimentationError) {
            try await journal.note(settled)
        } catch {
            // Only look-ups are affected; the ledger belongs to the outbox.
            connection.environment.log.log(.warning, "engage.journal", "not written: \(error.message)")
        }
    }

    /// Adds the recipient that this installation still lacks, if one of these events belongs to its user.
    ///
    /// If the recipient can't be created, events don't wait for it: they are sent without one, and the next delivery
    /// tries again.
    ///
    /// - Throws: An error if the vendor couldn't be asked, or if no token or no store is available.
    private func addRecipient(for batch: [Envelope]) async throws(ExperimentationError) {
        let record = profile.record
        guard record.isWanted, batch.contains(where: { record.isOwn($0.identity.id) }) else { return }
        // A delivery doesn't wait for a token.
        _ = try await connection.tokens.token(until: connection.environment.time.instant)
        do throws(ExperimentationError) {
            if profile.record.isWanted { try await recipients.setupRecipient() }
        } catch {
            let isUnasked = [.transport, .timeout, .cancelled, .store].contains(error.code)
            if isUnasked || error.cause is RefusedTokens { throw error }
            connection.environment.log.log(.warning, "engage.recipient", "no recipient: \(error.message)")
        }
    }

    /// Stores the campaigns that these events bring, and adds their recipient.
    private func prepare(_ batch: [Envelope]) async throws(ExperimentationError) {
        try await profile.load()
        // The events of a user who denies consent aren't delivered, so these users have consented again.
        for user in profile.record.denied(among: batch) { try await profile.noteConsent(of: user) }
        // The order matters: the vendor may take its time, and a user who is removed meanwhile leaves no campaign.
        try await keepCampaigns(of: batch)
        try await addRecipient(for: batch)
    }

    /// Stores the campaigns that these events bring, and gives the device an id if it has none.
    private func keepCampaigns(of batch: [Envelope]) async throws(ExperimentationError) {
        let campaigns = batch.compactMap { envelope in
            translation.campaign(of: envelope.event, at: envelope.date, to: envelope.identity.id)
        }
        let isNameless = translation.device.id == nil && profile.record.deviceID.isEmpty
        guard !campaigns.isEmpty || isNameless else { return }
        let id = isNameless ? connection.environment.makeID() : ""
        let now = connection.environment.time.now
        try await profile.update { record in
            for campaign in campaigns { record.campaigns.putLate(campaign, at: now) }
            if record.deviceID.isEmpty { record.deviceID = id }
        }
    }

    /// Runs the plug-ins on all events concurrently; `nil` if the task was cancelled.
    private func complete(_ batch: [Behavior]) async -> [String: [String: String]]? {
        var said: [String: [String: String]] = [:]
        guard !augmentation.plugins.isEmpty else {
            for (envelope, _) in batch { said[envelope.id] = translation.attributes(of: envelope.event) }
            return said
        }
        for (envelope, _) in batch { said[envelope.id] = completed[envelope.id] }
        let rest = batch.filter { said[$0.envelope.id] == nil }
        let ids = rest.map { $0.envelope.id }
        completed.mark(ids, as: .hold)
        let outcomes = await augmentation.complete(rest.map(event(of:)))
        completed.mark(ids, as: .processing)
        for (id, outcome) in zip(ids, outcomes) {
            guard let outcome else { continue }
            completed.keep(outcome, of: id)
            said[id] = outcome.event.changed
        }
        return outcomes.contains(nil) ? nil : said
    }

    /// Returns a behavior for the plug-ins, with everything that would be posted without them.
    private func event(of behavior: Behavior) -> AugmentedEvent {
        let (envelope, draft) = behavior
        let said = translation.attributes(of: envelope.event)
        let whole = translation.behavior(envelope, draft: draft, said: said, record: profile.record)
        var event = AugmentedEvent(
            type: draft.type,
            date: envelope.date,
            userID: envelope.identity.id,
            attributes: Dictionary(whole.attributes.map { ($0.name, $0.value) }) { first, _ in first }
        )
        event.changed = said
        event.age = .seconds(max(0, connection.environment.time.now.timeIntervalSince(envelope.date)))
        return event
    }

    private func submit(_ batch: [Behavior], said: [String: [String: String]]) async -> Verdict {
        let record = profile.record
        let behaviors = batch.map { envelope, draft in
            translation.behavior(envelope, draft: draft, said: said[envelope.id] ?? [:], record: record)
        }
        let body = EngageWire.submission(behaviors)
        let environment = connection.environment
        do throws(ExperimentationError) {
            return try await connection.exchange(
                // The outbox retries deliveries: one attempt for a token, without waiting for it.
                until: environment.time.instant,
                { connection.requests.behaviors(body, token: $0) },
                read: { EngageErrors.verdict(on: $0, batch: batch.count, now: environment.time.now) }
            )
        } catch {
            let patience = await connection.tokens.patience
            return EngageErrors.verdict(on: error, after: patience)
        }
    }
}
