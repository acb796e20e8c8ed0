import AdapterKit
import Experimentation

/// Requests the access tokens for both interfaces with the refresh token, which the vendor may replace each time.
///
/// The vendor limits how many tokens it issues per hour, returns the same one for some hours, and asks clients to wait
/// after failures.
struct EngageAuthorization: Sendable {
    let configuration: EngageConfiguration
    let client: HTTPClient
    let environment: ClientEnvironment
    let profile: EngageProfile

    /// The tokens that are requested this way.
    var tokens: AccessTokens {
        let networking = configuration.networking
        return AccessTokens(
            backoff: Backoff(first: networking.firstBackoff, longest: networking.longestBackoff),
            environment: environment
        ) { wait throws(ExperimentationError) in
            do throws(ExperimentationError) {
                return try await request(&wait)
            } catch {
                environment.log.log(.warning, "engage.token.failed", "no access token: \(error.message)")
                throw error
            }
        }
    }

    private func request(_ wait: inout Duration?) async throws(ExperimentationError) -> AccessTokens.Grant {
        // Until the profile is loaded, it is unknown whether another refresh token has replaced the configured one.
        try await profile.load()
        let kept = profile.record
        var credentials = configuration.credentials
        if let refresh = kept.refreshToken, kept.refreshTokenOrigin == origin {
            credentials.refreshToken = Secret(refresh)
        }
        let reply = try await client.send(
            EngageRequests(endpoint: configuration.endpoint).token(credentials),
            limits: HTTPLimits(deadline: configuration.networking.timeout, responseBytes: 1 << 16)
        )
        wait = reply.retryAfter(at: environment.time.now)
        let grant = try EngageWire.grant(reply)
        // Stored before the access token is used: a process that ends in between would leave a refresh token that is
        // used up.
        if let next = grant.refreshToken, next != credentials.refreshToken.reveal() { await keep(next) }
        return AccessTokens.Grant(Secret(grant.accessToken), for: grant.expiresIn.map { .seconds($0) })
    }

    /// Recognizes the configured refresh token; for comparison, not for security.
    private var origin: String {
        String(configuration.credentials.refreshToken.reveal().utf8.fnv1a(), radix: 16)
    }

    /// Stores a refresh token that replaces the configured one, for as long as that one stays configured.
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
}
