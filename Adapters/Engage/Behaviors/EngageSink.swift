import AdapterKit
import Experimentation
import Foundation
import Synchronization

/// Takes the client's events to the endpoint for behaviours.
struct EngageSink: EventSink {
    let connection: EngageConnection
    let profile: EngageProfile
    let translation: EngageTranslation
    let augmentation: AugmentationRun
    let completed: CompletedEvents

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
        guard translation.draft(of: event) != nil else {
            throw ExperimentationError(.unsupported, "Engage has no behaviour for \(event.type)")
        }
        for name in event.attributes.values.keys where name.isEmpty {
            throw ExperimentationError(.invalidArgument, "an attribute of a behaviour needs a name")
        }
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        var report = DeliveryReport()
        var behaviors: [Envelope] = []
        for envelope in batch {
            if case .consentChanged = envelope.event.kind {
                report.verdicts[envelope.id] = await optOut(envelope)
            } else if translation.draft(of: envelope.event) == nil {
                report.verdicts[envelope.id] = .rejected("Engage has no behaviour for \(envelope.event.type)")
            } else {
                behaviors.append(envelope)
            }
        }
        guard !behaviors.isEmpty else { return report }
        do throws(ExperimentationError) {
            try await prepare(behaviors)
        } catch {
            report.merge(DeliveryReport(EngageErrors.verdict(on: error, after: nil), for: behaviors))
            return report
        }
        guard let said = await complete(behaviors) else { return report }
        report.merge(await submit(behaviors, said: said))
        return report
    }

    /// Learns the campaigns that these events bring, and gives the device an id if it has none.
    private func prepare(_ batch: [Envelope]) async throws(ExperimentationError) {
        try await profile.load()
        let campaigns = batch.compactMap { translation.campaign(of: $0.event, at: $0.date) }
        let isNameless = translation.device.id == nil && profile.record.deviceID.isEmpty
        guard !campaigns.isEmpty || isNameless else { return }
        let id = isNameless ? connection.environment.makeID() : ""
        try await profile.update { record in
            for campaign in campaigns { record.campaigns.put(campaign) }
            if record.deviceID.isEmpty { record.deviceID = id }
        }
    }

    /// Has the plug-ins complete the events, all at once; `nil` if the task was cancelled.
    private func complete(_ batch: [Envelope]) async -> [String: [String: String]]? {
        var said: [String: [String: String]] = [:]
        guard !augmentation.plugins.isEmpty else {
            for envelope in batch { said[envelope.id] = translation.attributes(of: envelope.event) }
            return said
        }
        return await withTaskGroup(of: (String, [String: String])?.self) { group in
            for envelope in batch {
                group.addTask {
                    if let known = completed[envelope.id] { return (envelope.id, known) }
                    guard let draft = translation.draft(of: envelope.event) else { return (envelope.id, [:]) }
                    let event = AugmentedEvent(
                        type: draft.type,
                        date: envelope.date,
                        userID: envelope.identity.id,
                        attributes: translation.attributes(of: envelope.event)
                    )
                    completed.begin(envelope.id)
                    guard let outcome = await augmentation.complete(event) else {
                        completed.abandon(envelope.id)
                        return nil
                    }
                    completed.finish(envelope.id, outcome)
                    return (envelope.id, outcome.event.attributes)
                }
            }
            var isWhole = true
            for await result in group {
                if let result { said[result.0] = result.1 } else { isWhole = false }
            }
            return isWhole ? said : nil
        }
    }

    private func submit(_ batch: [Envelope], said: [String: [String: String]]) async -> DeliveryReport {
        let record = profile.record
        let behaviors = batch.compactMap { envelope in
            translation.draft(of: envelope.event).map { draft in
                translation.behavior(
                    envelope,
                    draft: draft,
                    said: said[envelope.id] ?? [:],
                    record: record,
                    recipient: profile.recipientID(of: envelope.identity.id)
                )
            }
        }
        let body = EngageWire.submission(behaviors)
        let environment = connection.environment
        do throws(ExperimentationError) {
            let verdict: Verdict = try await connection.exchange(
                // Delivery is tried again by the outbox: one attempt for a token, no waiting for it.
                until: environment.time.instant,
                { connection.requests.behaviors(body, token: $0) },
                read: { reply in
                    .value(EngageErrors.verdict(on: reply, batch: batch.count, now: environment.time.now))
                }
            )
            if case .delivered = verdict { completed.forget(batch.map(\.id)) }
            return DeliveryReport(verdict, for: batch)
        } catch {
            let patience = await connection.authorization.patience
            return DeliveryReport(EngageErrors.verdict(on: error, after: patience), for: batch)
        }
    }

    /// Opts the recipient of somebody out who withdrew consent.
    private func optOut(_ envelope: Envelope) async -> Verdict {
        do throws(ExperimentationError) {
            try await profile.load()
            let recipient = profile.recipientID(of: envelope.identity.id)
            guard !recipient.isEmpty else { return .rejected("the user is no recipient") }
            let client = XMLAPIClient(connection: connection)
            try await client.perform(.optOut(recipientID: recipient, list: connection.configuration.listID))
            return .delivered
        } catch {
            return error.code == .vendorFault ? .failed(error.message) : EngageErrors.verdict(on: error, after: nil)
        }
    }
}

/// What plug-ins have made of events that aren't delivered yet; the oldest are forgotten first.
final class CompletedEvents: Sendable {
    private struct State {
        var known: [String: [String: String]] = [:]
        var order: [String] = []
        var underWay: Set<String> = []
        var expired = 0
    }

    private let state = Mutex(State())
    private let limit = 2_000

    subscript(id: String) -> [String: String]? { state.withLock { $0.known[id] } }

    /// How many events plug-ins are working on, and how many had to go without some, ever.
    var counts: (underWay: Int, expired: Int) { state.withLock { ($0.underWay.count, $0.expired) } }

    func begin(_ id: String) { state.withLock { _ = $0.underWay.insert(id) } }
    func abandon(_ id: String) { state.withLock { _ = $0.underWay.remove(id) } }

    func finish(_ id: String, _ outcome: AugmentationRun.Outcome) {
        state.withLock { state in
            state.underWay.remove(id)
            if outcome.isExpired { state.expired += 1 }
            if state.known.updateValue(outcome.event.attributes, forKey: id) == nil { state.order.append(id) }
            while state.known.count > limit, !state.order.isEmpty { state.known[state.order.removeFirst()] = nil }
        }
    }

    func forget(_ ids: [String]) {
        let gone = Set(ids)
        state.withLock { state in
            for id in ids { state.known[id] = nil }
            state.order.removeAll(where: gone.contains)
        }
    }
}
