import AdapterKit
import Experimentation
import Synchronization

/// The vendor's settings of the application: requested by deliveries when they have expired, and by the client, so that
/// an application that was switched off notices when it is back on.
final class EvergageRemoteSettings: RemoteSwitch {
    /// How long to wait after a missing answer.
    static let pause: Duration = .seconds(60)

    private let requests: EvergageRequests
    private let client: HTTPClient
    private let environment: ClientEnvironment
    private let state = Mutex<(known: EvergageRemoteConfiguration?, until: ContinuousClock.Instant?)>((nil, nil))
    /// A delivery and the client may want it at the same time.
    private let turn = AsyncSemaphore(limit: 1)

    init(_ requests: EvergageRequests, _ client: HTTPClient, environment: ClientEnvironment) {
        self.requests = requests
        self.client = client
        self.environment = environment
    }

    /// The current settings; `nil` before the first answer.
    var known: EvergageRemoteConfiguration? { state.withLock(\.known) }

    /// Returns the current settings, fetched if they have expired; they stay if that fails.
    func current() async -> EvergageRemoteConfiguration? {
        guard (try? await turn.enter()) != nil else { return known }
        defer { turn.leave() }
        if rest == nil { await fetch() }
        return known
    }

    func ask() async -> RemoteSwitchAnswer {
        let isOff = await current().map { !$0.isEnabled }
        return RemoteSwitchAnswer(isOff: isOff, wait: rest ?? Self.pause)
    }

    /// How long the settings are still valid; `nil` once they have expired.
    private var rest: Duration? {
        let now = environment.time.instant
        return state.withLock(\.until).flatMap { now < $0 ? now.duration(to: $0) : nil }
    }

    private func fetch() async {
        let now = environment.time.instant
        do throws(ExperimentationError) {
            let reply = try await client.send(
                requests.remoteConfiguration(),
                limits: HTTPLimits(deadline: requests.configuration.timeout, responseBytes: 1 << 20)
            )
            guard let found = EvergageRemoteConfiguration(reply) else { return keep() }
            state.withLock { $0 = (found, now.advanced(by: found.lifetime)) }
            if !found.isEnabled {
                environment.log.log(.warning, "evergage.disabled", "The vendor has disabled this application.")
            }
        } catch {
            environment.log.log(.debug, "evergage.configuration", "The vendor's configuration is unavailable: \(error)")
            if error.code != .cancelled { keep() }
        }
    }

    /// Keeps known settings for a pause, so that deliveries don't ask before each event.
    ///
    /// While they are unknown, deliveries fail and have a backoff of their own.
    private func keep() {
        let until = environment.time.instant.advanced(by: Self.pause)
        state.withLock { if $0.known != nil { $0.until = until } }
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
