import AdapterKit
import Experimentation
import Foundation

/// The access token of both interfaces: requested once at a time, renewed before it expires, and requested less and
/// less often while that fails.
///
/// The vendor limits how many tokens are issued per hour, returns the same one for some hours, and asks for patience
/// after failures.
actor EngageAuthorization {
    /// A token and its validity; hidden when printed or dumped.
    struct Token: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        var description: String { "<secret>" }
        var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }

        let value: String
        /// When to request a new one.
        let renewal: ContinuousClock.Instant?
        /// When it becomes invalid.
        let end: ContinuousClock.Instant?
    }

    private let configuration: EngageConfiguration
    private let requests: EngageRequests
    private let client: HTTPClient
    private let environment: ClientEnvironment
    private let profile: EngageProfile
    private var token: Token?
    private let request = SingleFlight<String, Void>()
    /// The number of tokens issued.
    private var grants = 0
    private var failures = 0
    private var lastFailure: ExperimentationError?
    private var notBefore: ContinuousClock.Instant?
    private var askedUntil: ContinuousClock.Instant?

    init(
        configuration: EngageConfiguration,
        requests: EngageRequests,
        client: HTTPClient,
        environment: ClientEnvironment,
        profile: EngageProfile
    ) {
        self.configuration = configuration
        self.requests = requests
        self.client = client
        self.environment = environment
        self.profile = profile
    }

    /// Returns a valid token, requesting one if necessary; all callers share one request.
    ///
    /// It retries until the deadline; one attempt is made in any case, unless the last failure asks for more patience
    /// than that.
    func token(until deadline: ContinuousClock.Instant) async throws(ExperimentationError) -> Token {
        while true {
            let now = environment.time.instant
            if let token, token.renewal.map({ now < $0 }) ?? true { return token }
            if let notBefore, let lastFailure, now < notBefore {
                // A token that is due but hasn't expired is better than none.
                if let token, token.end.map({ now < $0 }) ?? true { return token }
                guard lastFailure.isWorthWaiting, notBefore <= deadline else { throw lastFailure }
                do {
                    try await environment.time.sleep(until: notBefore)
                } catch {
                    throw ExperimentationError(.cancelled, "cancelled while waiting for a token")
                }
                continue
            }
            let before = grants
            // A caller that is cancelled, as by a denial of consent, doesn't wait for the answer; the others do.
            try? await request("token") { await self.ask() }
            // One that was just issued is used, however short its validity.
            if grants > before, let token { return token }
            if Task.isCancelled { throw ExperimentationError(.cancelled, "cancelled while waiting for a token") }
            guard grants == before, let lastFailure else { continue }
            // Where attempts follow each other without a wait, nothing else ends them.
            let failed = environment.time.instant
            if let token, token.end.map({ failed < $0 }) ?? true { return token }
            guard lastFailure.isWorthWaiting, failed < deadline else { throw lastFailure }
        }
    }

    /// How long the vendor asked to wait, if its last answer did; otherwise callers that retry have a schedule of their
    /// own.
    var patience: Duration? {
        guard let askedUntil else { return nil }
        let rest = environment.time.instant.duration(to: askedUntil)
        return rest > .zero ? rest : nil
    }

    /// Notes that the vendor refused a token; the next caller gets another one.
    func reject(_ refused: Token) {
        if token?.value == refused.value { token = nil }
    }

    private func ask() async {
        let result = await grant()
        // Before anyone uses the token: a process that ends in between would leave a refresh token that is used up.
        if let refresh = result.refresh { await keep(refresh) }
        switch result.token {
        case .success(let token):
            self.token = token
            grants += 1
            failures = 0
            lastFailure = nil
            notBefore = nil
            askedUntil = nil
        case .failure(let error):
            failures += 1
            lastFailure = error
            let wait = max(backoff(failures), result.wait ?? .zero)
            notBefore = environment.time.instant.advanced(by: wait)
            askedUntil = result.wait.map { environment.time.instant.advanced(by: $0) }
            environment.log.log(.warning, "engage.token.failed", "no access token: \(error.message)")
        }
    }

    private struct Answer {
        var token: Result<Token, ExperimentationError>
        var refresh: String?
        var wait: Duration?
    }

    private func grant() async -> Answer {
        // Until it is loaded, it is unknown whether a refresh token has replaced the configured one.
        do throws(ExperimentationError) { try await profile.load() } catch { return Answer(token: .failure(error)) }
        let credentials = configuration.credentials
        let configured = credentials.refreshToken.reveal()
        let kept = profile.record
        let isOurs = kept.refreshTokenOrigin == EngageDigest.of(configured)
        let refresh = isOurs ? kept.refreshToken ?? configured : configured
        let message = requests.token(
            clientID: credentials.clientID,
            secret: credentials.clientSecret,
            refreshToken: Secret(refresh)
        )
        let begun = environment.time.instant
        var wait: Duration?
        do throws(ExperimentationError) {
            let reply = try await client.send(
                message,
                limits: HTTPLimits(deadline: configuration.networking.timeout, responseBytes: 1 << 16)
            )
            wait = reply.retryAfter(at: environment.time.now)
            let grant = try EngageWire.grant(reply)
            // However short the vendor says it is: it wants few requests, and refuses an expired token.
            let life = grant.expiresIn.map { max(.seconds($0), configuration.networking.firstBackoff) }
            let token = Token(
                value: grant.accessToken,
                renewal: life.map { begun.advanced(by: max($0 * 0.75, configuration.networking.firstBackoff)) },
                end: life.map { begun.advanced(by: $0) }
            )
            return Answer(token: .success(token), refresh: grant.refreshToken == refresh ? nil : grant.refreshToken)
        } catch {
            return Answer(token: .failure(error), wait: wait)
        }
    }

    /// Stores a refresh token that replaces the configured one, for as long as the latter stays configured.
    private func keep(_ refresh: String) async {
        let origin = EngageDigest.of(configuration.credentials.refreshToken.reveal())
        do {
            try await profile.update {
                $0.refreshToken = refresh
                $0.refreshTokenOrigin = origin
            }
        } catch {
            environment.log.log(.error, "engage.token.unkept", "the new refresh token wasn't stored: \(error.message)")
        }
    }

    private func backoff(_ failures: Int) -> Duration {
        let networking = configuration.networking
        // Twenty doublings far exceed the longest wait.
        let doubled = networking.firstBackoff * (1 << min(failures - 1, 20))
        return min(doubled, networking.longestBackoff) * (0.5 + environment.jitter() / 2)
    }
}

extension ExperimentationError {
    /// Whether the same request may succeed later without a change.
    var isWorthWaiting: Bool {
        code == .transport || code == .timeout || code == .vendorFault
    }
}

/// A short, one-way name for a string; for comparison, not for security.
enum EngageDigest {
    static func of(_ text: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}
