import AdapterKit
import Experimentation
import Foundation

/// The access token of both interfaces: requested once at a time, renewed before it expires, and requested less and
/// less often while that fails.
///
/// The vendor limits how many tokens are issued per hour, returns the same one for some hours, and asks for patience
/// after failures.
actor EngageAuthorization {
    /// A token and its validity.
    struct Token: Sendable, Hashable {
        let value: Secret
        /// When to request a new one.
        let renewal: ContinuousClock.Instant?
        /// When it becomes invalid.
        let end: ContinuousClock.Instant?
    }

    /// Why there is no new token, and when to ask for one again.
    private struct Failure {
        let error: ExperimentationError
        /// How many attempts in a row have failed.
        let count: Int
        let notBefore: ContinuousClock.Instant
        /// Until when the vendor asked to wait, if it did.
        let askedUntil: ContinuousClock.Instant?
    }

    private let configuration: EngageConfiguration
    private let client: HTTPClient
    private let environment: ClientEnvironment
    private let profile: EngageProfile
    private let request = SingleFlight<String, Token>()
    private var token: Token?
    private var failure: Failure?

    init(
        configuration: EngageConfiguration,
        client: HTTPClient,
        environment: ClientEnvironment,
        profile: EngageProfile
    ) {
        self.configuration = configuration
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
            if let token, isBefore(token.renewal) { return token }
            if let failure, isBefore(failure.notBefore) {
                // A token that is due but hasn't expired is better than none.
                if let token, isBefore(token.end) { return token }
                guard failure.error.isWorthWaiting, failure.notBefore <= deadline else { throw failure.error }
                do {
                    try await environment.time.sleep(until: failure.notBefore)
                } catch {
                    throw ExperimentationError(.cancelled, "cancelled while waiting for a token")
                }
                continue
            }
            do throws(ExperimentationError) {
                // One that was just issued is used, however short its validity.
                return try await request("token") { () async throws(ExperimentationError) in try await self.ask() }
            } catch {
                // A caller that is cancelled, as by a denial of consent, doesn't wait for the answer; the others do.
                guard error.code != .cancelled else { throw error }
                // Where attempts follow each other without a wait, nothing else ends them.
                if let token, isBefore(token.end) { return token }
                guard error.isWorthWaiting, isBefore(deadline) else { throw error }
            }
        }
    }

    /// Recognizes the configured refresh token.
    private var origin: String { EngageDigest.of(configuration.credentials.refreshToken.reveal()) }

    /// Whether a time is still to come; `nil` always is.
    private func isBefore(_ instant: ContinuousClock.Instant?) -> Bool {
        instant.map { environment.time.instant < $0 } ?? true
    }

    /// How long the vendor asked to wait, if its last answer did; otherwise callers that retry have a schedule of their
    /// own.
    var patience: Duration? {
        guard let askedUntil = failure?.askedUntil else { return nil }
        let rest = environment.time.instant.duration(to: askedUntil)
        return rest > .zero ? rest : nil
    }

    /// Notes that the vendor refused a token; the next caller gets another one.
    func reject(_ refused: Token) {
        if token?.value == refused.value { token = nil }
    }

    private func ask() async throws(ExperimentationError) -> Token {
        var wait: Duration?
        do throws(ExperimentationError) {
            // Until it is loaded, it is unknown whether a refresh token has replaced the configured one.
            try await profile.load()
            let kept = profile.record
            var credentials = configuration.credentials
            if let refresh = kept.refreshToken, kept.refreshTokenOrigin == origin {
                credentials.refreshToken = Secret(refresh)
            }
            let begun = environment.time.instant
            let reply = try await client.send(
                EngageRequests(endpoint: configuration.endpoint).token(credentials),
                limits: HTTPLimits(deadline: configuration.networking.timeout, responseBytes: 1 << 16)
            )
            wait = reply.retryAfter(at: environment.time.now)
            let grant = try EngageWire.grant(reply)
            // Before anyone uses the token: a process that ends in between would leave a refresh token that is used up.
            if let next = grant.refreshToken, next != credentials.refreshToken.reveal() { await keep(next) }
            // However short the vendor says it is: it wants few requests, and refuses an expired token.
            let shortest = configuration.networking.firstBackoff
            let life = grant.expiresIn.map { max(.seconds($0), shortest) }
            let token = Token(
                value: Secret(grant.accessToken),
                renewal: life.map { begun.advanced(by: max($0 * 0.75, shortest)) },
                end: life.map { begun.advanced(by: $0) }
            )
            (self.token, failure) = (token, nil)
            return token
        } catch {
            let now = environment.time.instant
            let count = (failure?.count ?? 0) + 1
            failure = Failure(
                error: error,
                count: count,
                notBefore: now.advanced(by: max(backoff(count), wait ?? .zero)),
                askedUntil: wait.map { now.advanced(by: $0) }
            )
            environment.log.log(.warning, "engage.token.failed", "no access token: \(error.message)")
            throw error
        }
    }

    /// Stores a refresh token that replaces the configured one, for as long as the latter stays configured.
    private func keep(_ refresh: String) async {
        do {
            try await profile.update { [origin] record in
                record.refreshToken = refresh
                record.refreshTokenOrigin = origin
            }
        } catch {
            environment.log.log(.error, "engage.token.unkept", "the new refresh token wasn't stored: \(error.message)")
        }
    }

    private func backoff(_ count: Int) -> Duration {
        let networking = configuration.networking
        return Backoff(first: networking.firstBackoff, longest: networking.longestBackoff)
            .delay(before: count, jitter: 0.5 + environment.jitter() / 2)
    }
}

extension ExperimentationError {
    /// Whether the same request may succeed later without a change.
    var isWorthWaiting: Bool { [.transport, .timeout, .vendorFault].contains(code) }
}

/// A short, one-way name for a string; for comparison, not for security.
enum EngageDigest {
    static func of(_ text: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}
