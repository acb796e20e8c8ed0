import AdapterKit
import Experimentation
import Foundation

/// Delivers events to the vendor, one per request, as its public interface requires.
final class EvergageEventSink: EventSink {
    let configuration: EvergageConfiguration
    let remoteSettings: EvergageRemoteSettings?
    private let context: ProviderContext
    private let requests: EvergageRequests
    private let client: HTTPClient
    private let delivery: OneByOneDelivery

    init(configuration: EvergageConfiguration, transport: any HTTPTransport, in context: ProviderContext) {
        self.configuration = configuration
        self.context = context
        requests = EvergageRequests(configuration: configuration)
        client = HTTPClient(transport: transport, environment: context.environment)
        delivery = OneByOneDelivery(pace: configuration.pace, by: context.environment.time)
        remoteSettings =
            configuration.usesRemoteConfiguration
            ? EvergageRemoteSettings(requests, client, environment: context.environment)
            : nil
    }

    var environment: ClientEnvironment { context.environment }

    /// The vendor's settings of the application; `nil` while they are unknown.
    var remote: EvergageRemoteConfiguration? { remoteSettings.map(\.value.known) ?? EvergageRemoteConfiguration() }

    /// One event per request and one request at a time: the vendor has no batches.
    var batching: BatchPolicy {
        BatchPolicy(
            count: 1,
            largest: 1,
            interval: .zero,
            attempts: 3,
            maximumAge: configuration.maximumAge,
            pace: configuration.pace
        )
    }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        // View time isn't an action. The adapter creates it from a view that was checked.
        if event.evergageViewTime == nil { _ = try EvergageTranslation.action(for: event) }
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        // Events wait while it is unknown whether the vendor takes events, and while it takes none.
        if let remoteSettings {
            guard let remote = await remoteSettings.value.current() else {
                return DeliveryReport(.outage(because: EvergageErrors.unknownSettings))
            }
            guard remote.isEnabled else { return DeliveryReport(.outage(because: .disabled), isDisabled: true) }
        }
        return await delivery.deliver(batch) { envelope in
            let report = await deliver(envelope)
            switch report[0] {
            case .rejected(let reason):
                environment.log.log(.error, "evergage.refused", "\(envelope.event.type) was refused: \(reason)")
            case .outage:
                environment.log.log(.debug, "evergage.later", "\(envelope.event.type) will be sent again")
            default: break
            }
            return report
        }
    }

    // MARK: One event

    private func deliver(_ envelope: Envelope) async -> DeliveryReport {
        do throws(ExperimentationError) {
            guard let viewTime = envelope.event.evergageViewTime else { return try await deliver(action: envelope) }
            let reply = try await send(requests.viewTime(envelope, viewTime, chance: environment.jitter()))
            return DeliveryReport(EvergageErrors.verdict(onPing: reply, now: environment.time.now))
        } catch {
            return DeliveryReport(error.code == .invalidArgument ? .rejected(error.message) : DeliveryVerdict.of(error))
        }
    }

    private func deliver(action envelope: Envelope) async throws(ExperimentationError) -> DeliveryReport {
        let action = try EvergageTranslation.action(for: envelope.event)
        let event = EvergageTranslation.event(
            envelope,
            action,
            configuration: configuration,
            isCampaignWanted: isCampaignWanted(for: envelope)
        )
        let reply = try await send(requests.event(id: envelope.id, event))
        let answer = (try? JSON.parse(reply.body)).flatMap(EvergageAnswer.init)
        var report = DeliveryReport(EvergageErrors.verdict(on: reply, answer: answer, now: environment.time.now))
        // Logged when the event is done, because it may be retried for days.
        switch report[0] {
        case .delivered, .rejected:
            for note in action.notes {
                environment.log.log(note.level, "evergage.event", "\(envelope.event.type): \(note.text)")
            }
        default: break
        }
        if let answer, report[0] == .delivered {
            let isTest = action.members[object: "debug"]["testMessages"] != nil
            report.campaigns = EvergageTranslation.campaigns(in: answer, isTest: isTest)
                .map { ReceivedCampaign(eventID: envelope.id, campaign: $0) }
        }
        return report
    }

    private func send(_ message: HTTPMessage) async throws(ExperimentationError) -> HTTPReply {
        try await client.send(message, limits: HTTPLimits(deadline: configuration.timeout, responseBytes: 4 << 20))
    }

    /// Whether there is still a user to show a campaign to, and the event isn't too old for one.
    private func isCampaignWanted(for envelope: Envelope) -> Bool {
        let age = environment.time.now.timeIntervalSince(envelope.date)
        return age <= configuration.campaignAge / .seconds(1) && context.awaitsCampaigns(of: envelope)
    }
}
