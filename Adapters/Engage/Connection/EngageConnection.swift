import AdapterKit
import Experimentation

/// What the XML interface and the behaviors share: the token, the connection, and the handling of a 401.
struct EngageConnection: Sendable {
    let configuration: EngageConfiguration
    let client: HTTPClient
    let environment: ClientEnvironment
    let tokens: AccessTokens
    let line: EngageCallLine

    var requests: EngageRequests { EngageRequests(endpoint: configuration.endpoint) }

    /// Sends a request with a token, and once more with another one if the first is refused.
    ///
    /// Attempts to get a token continue until the deadline. `make` is called right before its request is sent. `read`
    /// never receives a 401, and returns `nil` for another answer that refuses the token.
    func exchange<Value: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ make: (String) throws(ExperimentationError) -> HTTPMessage,
        read: (HTTPReply) throws(ExperimentationError) -> Value?
    ) async throws(ExperimentationError) -> Value {
        for _ in 0..<2 {
            let token = try await tokens.token(until: deadline)
            line.open()
            let reply = try await client.send(
                try make(token.value.reveal()),
                limits: HTTPLimits(
                    deadline: configuration.networking.timeout,
                    responseBytes: configuration.networking.responseBytes
                )
            )
            if reply.status != 401, let value = try read(reply) { return value }
            await tokens.reject(token)
        }
        throw ExperimentationError(.unauthorized, "Engage refused two access tokens in a row", cause: RefusedTokens())
    }
}
