import AdapterKit
import Experimentation
import Foundation

/// Flagship's event sink: exposures go to the Decision API, hits to the collector.
struct FlagshipEventSink: EventSink {
    let batching: BatchPolicy
    let environmentID: String
    let requests: FlagshipRequests
    let client: HTTPClient
    let limits: HTTPLimits
    let time: any TimeSource
    let log: any LogSink
    /// Receives each exposure that the vendor has taken.
    let observations: FlagshipObservations
    /// Receives each consent that the vendor was told of.
    let consents: FlagshipConsentNotes?
    /// Receives failed deliveries.
    let reporter: FlagshipReporter?

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        if case .exposure(let exposure) = event.kind {
            guard !exposure.assignment.group.isEmpty, !exposure.assignment.variation.id.isEmpty else {
                throw ExperimentationError(
                    .invalidArgument,
                    "an exposure needs the variation group and the variation: Flagship reports by these"
                )
            }
            return
        }
        _ = try FlagshipTranslation.hits(of: event, id: "check")
    }

    /// The lane of a request; as in the original, exposures go first.
    enum Lane: DeliveryLane {
        case exposures, hits

        var most: Int {
            switch self {
            case .exposures: FlagshipWire.largestActivation
            // The policy's limits on events and bytes already keep a delivery's hits within one request.
            case .hits: .max
            }
        }
    }

    /// The requests of a batch.
    static func plan(_ batch: [Envelope]) -> DeliveryPlan<Lane> {
        DeliveryPlan(batch) { envelope in
            if case .exposure = envelope.event.kind { .exposures } else { .hits }
        }
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        await Self.plan(batch).deliver { request in
            switch request.lane {
            case .exposures: await activate(request.events)
            case .hits: await send(request.events)
            }
        }
    }

    private func activate(_ envelopes: [Envelope]) async -> DeliveryReport {
        let now = time.now
        let exposures = envelopes.compactMap { envelope -> (Envelope, Exposure)? in
            if case .exposure(let exposure) = envelope.event.kind { (envelope, exposure) } else { nil }
        }
        let entries = exposures.map { $1.wire(for: $0, environmentID: environmentID, now: now) }
        let verdict = await verdict(on: envelopes, orReport: .exposuresFailed) {
            () throws(ExperimentationError) in try requests.activate(entries)
        }
        if verdict == .delivered {
            for (envelope, exposure) in exposures { observations.exposed(envelope, exposure) }
            logLeftOut(of: envelopes)
        }
        return DeliveryReport(verdict)
    }

    private func send(_ envelopes: [Envelope]) async -> DeliveryReport {
        let now = time.now
        let translated = TranslatedBatch(envelopes) { envelope throws(ExperimentationError) in
            try FlagshipTranslation.hits(of: envelope.event, id: envelope.id)
                .map { $0.wire(for: envelope, environmentID: environmentID, now: now) }
        }
        return await translated.deliver { part in
            let verdict = await verdict(on: part.events, orReport: .hitsFailed) {
                () throws(ExperimentationError) in try requests.hits(part.forms.flatMap(\.self))
            }
            if verdict == .delivered {
                await noteConsents(of: part.events)
                logLeftOut(of: part.events)
            }
            return DeliveryReport(verdict)
        }
    }

    /// Logged when an event is delivered, because it may be retried for hours.
    private func logLeftOut(of delivered: [Envelope]) {
        for envelope in delivered {
            for sentence in FlagshipTranslation.leftOut(of: envelope.event) {
                log.log(.warning, "flagship.event", "\(envelope.event.type): \(sentence)")
            }
        }
    }

    private func noteConsents(of delivered: [Envelope]) async {
        guard let consents else { return }
        for envelope in delivered {
            guard case .consentChanged(let isGranted) = envelope.event.kind else { continue }
            await consents.tell(envelope.identity.id, isGranted)
        }
    }

    private func verdict(
        on envelopes: [Envelope],
        orReport label: FlagshipReport.Label,
        of make: () throws(ExperimentationError) -> HTTPMessage
    ) async -> Verdict {
        // Users who have consented. Of those who refused, only their signals wait, a consent from before it among them.
        let visitor = envelopes.first { !$0.event.isConsentSignal }
            .map { FlagshipReport.Visitor(identity: $0.identity, hasConsented: true) }
        let start = time.instant
        do throws(ExperimentationError) {
            let message = try make()
            let reply = try await client.send(message, limits: limits)
            if !(200...299).contains(reply.status), let visitor {
                reporter?.report(label, of: visitor, message.request, reply, since: start)
            }
            return FlagshipErrors.verdict(on: reply, events: envelopes.count, now: time.now)
        } catch {
            if let visitor { reporter?.report(error, of: visitor) }
            return DeliveryVerdict.of(error)
        }
    }
}

// MARK: - The wire of one event

extension FlagshipHit {
    /// Returns the hit as it is sent, with its visitor, environment and age.
    func wire(for envelope: Envelope, environmentID: String, now: Date) -> FlagValue {
        var members = fields
        members["cid"] = .string(environmentID)
        members["ds"] = .string(FlagshipWire.dataSource)
        members["qt"] = .int(envelope.queueTime(at: now))
        // Hits put the anonymous id first, and the customer's beside it only if there are two.
        let ids = envelope.identity.flagship
        members["vid"] = .string(ids.anonymous ?? ids.visitor)
        if ids.anonymous != nil { members["cuid"] = .string(ids.visitor) }
        return .object(members)
    }
}

extension Exposure {
    /// Returns the exposure as it is sent.
    ///
    /// Unlike in hits, the visitor's id comes first here.
    func wire(for envelope: Envelope, environmentID: String, now: Date) -> FlagValue {
        let ids = envelope.identity.flagship
        var members: [String: FlagValue] = [
            "cid": .string(environmentID), "vid": .string(ids.visitor),
            "caid": .string(assignment.group), "vaid": .string(assignment.variation.id),
            "qt": .int(envelope.queueTime(at: now)),
        ]
        if let anonymous = ids.anonymous { members["aid"] = .string(anonymous) }
        return .object(members)
    }
}

extension Envelope {
    /// Returns how long the event has waited in milliseconds, the collector's unit, which the original for iOS mistakes
    /// for seconds.
    ///
    /// Never negative, even if the clock was set back.
    func queueTime(at now: Date) -> Int {
        let milliseconds = now.timeIntervalSince(date) * 1_000
        guard milliseconds.isFinite, milliseconds > 0 else { return 0 }
        return Int(exactly: milliseconds.rounded()) ?? Int.max
    }
}
