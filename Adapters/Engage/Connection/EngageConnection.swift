import AdapterKit
import Experimentation

/// What the XML interface and the behaviors share: the token, the connection, and the reaction to a 401.
struct EngageConnection: Sendable {
    /// The kind of a reply.
    enum Reading<Value: Sendable>: Sendable {
        /// The requested value.
        case value(Value)
        /// The vendor wants another token.
        case refused
    }

    let configuration: EngageConfiguration
    let requests: EngageRequests
    let client: HTTPClient
    let environment: ClientEnvironment
    let authorization: EngageAuthorization
    let line: EngageCallLine

    /// Sends a request with a token, and once more with another one if the first is refused.
    ///
    /// A token is requested until the deadline, and `make` called right before its request is sent. `read` never gets a
    /// 401.
    func exchange<Value: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ make: (String) throws(ExperimentationError) -> HTTPMessage,
        read: (HTTPReply) throws(ExperimentationError) -> Reading<Value>
    ) async throws(ExperimentationError) -> Value {
        for _ in 0..<2 {
            let token = try await authorization.token(until: deadline)
            line.open()
            let reply = try await client.send(
                try make(token.value),
                limits: HTTPLimits(
                    deadline: configuration.networking.timeout,
                    responseBytes: configuration.networking.responseBytes
                )
            )
            if reply.status != 401, case .value(let value) = try read(reply) { return value }
            await authorization.reject(token)
        }
        throw ExperimentationError(.unauthorized, "Engage refused two access tokens in a row", cause: RefusedTokens())
    }
}
