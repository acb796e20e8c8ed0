import AdapterKit
import Experimentation
import Foundation
import Synchronization

/// Delivers events to the vendor, one per request, as its public interface requires.
final class EvergageEventSink: EventSink {
    let configuration: EvergageConfiguration
    let surfaces = EvergageSurfaces()
    private let requests: EvergageRequests
    private let client: HTTPClient
    let environment: ClientEnvironment
    let remoteSettings: EvergageRemoteSettings?

    /// When this run began: earlier events come from an earlier run.
    private let started: Date

    /// When the latest requests were sent, oldest first.
    private let sent = Mutex<[ContinuousClock.Instant]>([])

    init(configuration: EvergageConfiguration, transport: any HTTPTransport, environment: ClientEnvironment) {
        self.configuration = configuration
        requests = EvergageRequests(configuration)
        client = HTTPClient(transport: transport, environment: environment)
        self.environment = environment
        started = environment.time.now
        remoteSettings =
            configuration.usesRemoteConfiguration
            ? EvergageRemoteSettings(requests, client, environment: environment)
            : nil
    }

    /// The vendor's settings of the application; `nil` while they are unknown.
    var remote: EvergageRemoteConfiguration? {
        remoteSettings.map(\.known) ?? EvergageRemoteConfiguration()
    }

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
        // View time isn't an action. The adapter makes it from a view that was checked.
        if case .native(let native) = event.kind, native.type == EvergageTranslation.Native.viewTime { return }
        _ = try EvergageTranslation.action(for: event)
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        var report = DeliveryReport(noAnswerTo: batch.count)
        // Events wait while it is unknown whether the vendor takes any, and while it takes none.
        if let remoteSettings {
            guard let remote = await remoteSettings.current() else {
                return DeliveryReport(.outage(because: EvergageErrors.unknownSettings))
            }
            guard remote.isEnabled else { return DeliveryReport(.outage(because: .disabled), isDisabled: true) }
        }
        for (place, envelope) in batch.enumerated() {
            do {
                try await keepPace()
            } catch {
                report[place] = .outage(because: .pace)
                break
            }
            let part = await deliver(envelope)
            report.add(part, at: [place])
            switch part[0] {
            case .delivered: continue
            case .rejected(let reason):
                environment.log.log(.error, "evergage.refused", "\(envelope.event.type) was refused: \(reason)")
                continue
            case .outage:
                environment.log.log(.debug, "evergage.later", "\(envelope.event.type) will be sent again")
            default: break
            }
            // The head of the queue blocks: later events must not overtake it.
            return report
        }
        return report
    }

    // MARK: One event

    private func deliver(_ envelope: Envelope) async -> DeliveryReport {
        do throws(ExperimentationError) {
            if case .native(let native) = envelope.event.kind, native.type == EvergageTranslation.Native.viewTime {
                let reply = try await send(
                    requests.viewTime(envelope, native.payload, chance: environment.jitter())
                )
                let now = environment.time.now
                let answer = try? JSON.parse(reply.body)
                return DeliveryReport(EvergageErrors.verdict(onPing: reply, answer: answer, now: now))
            }
            return try await deliver(event: envelope)
        } catch {
            return DeliveryReport(error.code == .invalidArgument ? .rejected(error.message) : DeliveryVerdict.of(error))
        }
    }

    private func deliver(event envelope: Envelope) async throws(ExperimentationError) -> DeliveryReport {
        let action = try EvergageTranslation.action(for: envelope.event)
        let event = EvergageTranslation.event(
            envelope,
            action,
            configuration: configuration,
            isCampaignWanted: isCampaignWanted(for: envelope)
        )
        let reply = try await send(requests.event(id: envelope.id, event))
        let answer = (try? JSON.parse(reply.body)).flatMap(EvergageAnswer.init)
        let verdict = EvergageErrors.verdict(on: reply, answer: answer, now: environment.time.now)
        // Logged when the event is done, because it may be retried for days.
        switch verdict {
        case .delivered, .rejected:
            for one in action.notes {
                environment.log.log(one.level, "evergage.event", "\(envelope.event.type): \(one.text)")
            }
        default: break
        }
        var report = DeliveryReport(verdict)
        if let answer, verdict == .delivered {
            let isTest = action.members["debug"]?.objectValue?["testMessages"] != nil
            report.campaigns = EvergageTranslation.campaigns(in: answer, isTest: isTest)
                .map { ReceivedCampaign(eventID: envelope.id, campaign: $0) }
        }
        return report
    }

    private func send(_ message: HTTPMessage) async throws(ExperimentationError) -> HTTPReply {
        try await client.send(
            message,
            limits: HTTPLimits(deadline: configuration.timeout, responseBytes: 4 << 20)
        )
    }

    /// Whether there is still a user to show a campaign to: not for an event of an earlier run, an old one, or one of a
    /// screen that has gone.
    private func isCampaignWanted(for envelope: Envelope) -> Bool {
        let now = environment.time.now
        // A clock that was set back since the start makes events of this run look like those of an earlier one.
        if envelope.date < started, started <= now, !surfaces.isLive(session: envelope.session) { return false }
        if now.timeIntervalSince(envelope.date) > configuration.campaignAge / .seconds(1) { return false }
        return surfaces.isLive(surface: envelope.surface)
    }

    // MARK: Rate limit

    /// Waits until one more request is within the limit.
    private func keepPace() async throws {
        guard let pace = configuration.pace else { return }
        while true {
            let now = environment.time.instant
            let wait = sent.withLock { sent -> ContinuousClock.Instant? in
                sent.removeAll { $0.duration(to: now) >= pace.interval }
                guard sent.count >= pace.requests, let first = sent.first else {
                    sent.append(now)
                    return nil
                }
                return first.advanced(by: pace.interval)
            }
            guard let wait else { return }
            try await environment.time.sleep(until: wait)
        }
    }
}
