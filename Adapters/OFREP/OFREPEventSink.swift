import AdapterKit
import Experimentation
import Foundation
import HTTPTypes

/// Delivers events to a server that accepts them in addition to the protocol, as this project's gateway does.
///
/// The server recognizes an event by its id, so that a repeated request adds nothing.
struct OFREPEventSink: EventSink {
    let requests: OFREPRequests
    let configuration: OFREPConfiguration
    let client: HTTPClient
    let environment: ClientEnvironment

    /// The gateway takes at most 1,000 events and, unless set otherwise, a million bytes in a request.
    var batching: BatchPolicy {
        BatchPolicy(count: 20, largest: 500, bytes: 800_000, interval: .seconds(5), attempts: 5)
    }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        if case .native(let native) = event.kind {
            throw ExperimentationError(.unsupported, "OFREP: a server has no word for the native event \(native.type)")
        }
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        let translated = TranslatedBatch(batch) { envelope throws(ExperimentationError) in
            try OFREPTranslation.event(envelope)
        }
        let report = await translated.deliver { part in await post(part.forms) }
        for (envelope, verdict) in zip(batch, report.verdicts(count: batch.count)) {
            guard case .rejected(let reason) = verdict else { continue }
            environment.log.log(.error, "ofrep.refused", "\(envelope.event.type) was refused: \(reason)")
        }
        return report
    }

    private func post(_ events: [FlagValue]) async -> DeliveryReport {
        do throws(ExperimentationError) {
            let message = try requests.events(events)
            let limits = HTTPLimits(deadline: configuration.timeout, responseBytes: 4 << 20)
            let reply = try await client.send(message, limits: limits, retry: HTTPRetry.none)
            return OFREPErrors.report(on: events.count, reply, now: environment.time.now)
        } catch {
            return DeliveryReport(DeliveryVerdict.of(error))
        }
    }
}
