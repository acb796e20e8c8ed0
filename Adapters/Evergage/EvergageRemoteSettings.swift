import AdapterKit
import Experimentation

/// The vendor's settings for the application.
///
/// Deliveries request them when they have expired, and the client does so that an application that was switched off
/// notices when it is back on.
struct EvergageRemoteSettings: RemoteSwitch {
    /// How long to wait after a missing answer.
    private static let pause: Duration = .seconds(60)

    /// The settings; while they are unknown, deliveries fail.
    let value: LapsingValue<EvergageRemoteConfiguration>

    init(_ requests: EvergageRequests, _ client: HTTPClient, environment: ClientEnvironment) {
        let log = environment.log
        let limits = HTTPLimits(deadline: requests.configuration.timeout, responseBytes: 1 << 20)
        value = LapsingValue(pause: Self.pause, by: environment.time) { () async throws(ExperimentationError) in
            do throws(ExperimentationError) {
                let reply = try await client.send(requests.remoteConfiguration(), limits: limits)
                guard let found = EvergageRemoteConfiguration(reply) else { return nil }
                if !found.isEnabled {
                    log.log(.warning, "evergage.disabled", "The vendor has disabled this application.")
                }
                return (found, found.lifetime)
            } catch {
                log.log(.debug, "evergage.configuration", "The vendor's configuration is unavailable: \(error)")
                throw error
            }
        }
    }

    func ask() async -> RemoteSwitchAnswer {
        let isOff = await value.current().map { !$0.isEnabled }
        return RemoteSwitchAnswer(isOff: isOff, wait: value.rest ?? Self.pause)
    }
}

extension EvergageRemoteConfiguration {
    /// Parses an answer; `nil` if it isn't valid.
    ///
    /// An application that the vendor doesn't know is switched off.
    fileprivate init?(_ reply: HTTPReply) {
        switch reply.status {
        case 200:
            guard let members = (try? JSON.parse(reply.body))?.objectValue else { return nil }
            self.init(members)
        case 404: self.init(isEnabled: false)
        default: return nil
        }
    }
}
