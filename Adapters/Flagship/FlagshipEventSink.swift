import AdapterKit
import Experimentation
import Foundation

/// Flagship's event sink: exposures go to the Decision API, hits to the collector.
struct FlagshipEventSink: EventSink {
    let service: FlagshipService
    /// Records each consent that the vendor has been told of.
    let consents: FlagshipConsentNotes?

    var batching: BatchPolicy { service.configuration.batching }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        if case .exposure(let exposure) = event.kind,
            exposure.assignment.group.isEmpty || exposure.assignment.variation.id.isEmpty
        {
            throw ExperimentationError(
                .invalidArgument,
                "an exposure needs the variation group and the variation: Flagship reports by these"
            )
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

        var failure: FlagshipReport.Label { self == .exposures ? .exposuresFailed : .hitsFailed }
    }

    static func plan(_ batch: [Envelope]) -> DeliveryPlan<Lane> {
        DeliveryPlan(batch) { envelope in
            if case .exposure = envelope.event.kind { .exposures } else { .hits }
        }
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        await Self.plan(batch).deliver { request in
            let (environmentID, now) = (service.configuration.environmentID, service.environment.time.now)
            let translated = TranslatedBatch(request.events) { envelope throws(ExperimentationError) in
                try envelope.wire(environmentID: environmentID, now: now)
            }
            return await translated.deliver { part in await send(part, in: request.lane) }
        }
    }

    private func send(_ part: TranslatedBatch<[FlagValue]>, in lane: Lane) async -> DeliveryReport {
        let (requests, time, entries) = (service.requests, service.environment.time, part.forms.flatMap(\.self))
        // These users have consented: for users who refused, only consent signals wait, including one from before the
        // refusal.
        let visitor = part.events.first { !$0.event.isConsentSignal }
            .map { FlagshipReport.Visitor(identity: $0.identity, hasConsented: true) }
        let start = time.instant
        do throws(ExperimentationError) {
            let message = try lane == .exposures ? requests.activate(entries) : requests.hits(entries)
            let reply = try await service.client.send(message, limits: service.configuration.transferLimits)
            if !(200...299).contains(reply.status), let visitor {
                service.reporter?.report(lane.failure, of: visitor, message.request, reply, since: start)
            }
            let verdict = FlagshipErrors.verdict(on: reply, events: part.events.count, now: time.now)
            if verdict == .delivered { for envelope in part.events { await noteDelivery(of: envelope) } }
            return DeliveryReport(verdict)
        } catch {
            if let visitor { service.reporter?.report(error, of: visitor) }
            return DeliveryReport(DeliveryVerdict.of(error))
        }
    }

    private func noteDelivery(of envelope: Envelope) async {
        switch envelope.event.kind {
        case .exposure(let exposure): service.observations.exposed(envelope, exposure)
        case .consentChanged(let isGranted): await consents?.tell(envelope.identity.id, isGranted)
        default: break
        }
        // Logged only now, because the event may have been retried for hours.
        for sentence in FlagshipTranslation.leftOut(of: envelope.event) {
            service.environment.log.log(.warning, "flagship.event", "\(envelope.event.type): \(sentence)")
        }
    }
}

// MARK: - The wire of one event

extension Envelope {
    /// Returns the event as it is sent, with its visitor, environment and age: an exposure, or hits.
    func wire(environmentID: String, now: Date) throws(ExperimentationError) -> [FlagValue] {
        let ids = identity.flagship
        var common: [String: FlagValue] = ["cid": .string(environmentID), "qt": .int(queueTime(at: now))]
        if case .exposure(let exposure) = event.kind {
            common["vid"] = .string(ids.visitor)
            common["aid"] = ids.anonymous.map { .string($0) }
            common["caid"] = .string(exposure.assignment.group)
            common["vaid"] = .string(exposure.assignment.variation.id)
            return [.object(common)]
        }
        // Hits put the anonymous id first, and add the customer's id only if there are two.
        common["vid"] = .string(ids.anonymous ?? ids.visitor)
        if ids.anonymous != nil { common["cuid"] = .string(ids.visitor) }
        common["ds"] = .string(FlagshipWire.dataSource)
        return try FlagshipTranslation.hits(of: event, id: id).map { .object($0.fields.merging(common) { $1 }) }
    }

    /// Returns how long the event has waited, in milliseconds.
    ///
    /// That is the collector's unit, which the original for iOS mistakes for seconds.
    ///
    /// Never negative, even if the clock was set back.
    func queueTime(at now: Date) -> Int {
        Int(clamping: (now.timeIntervalSince(date) * 1_000).rounded(), to: 0...Int.max)
    }
}
