import Experimentation
import HTTPTypes

extension HTTPTransport {
    /// Returns this transport with the environment's observer around each request; the observer may add header fields.
    ///
    /// Streams aren't observed: they may last for days.
    ///
    /// - Parameter environment: The environment; without an observer the transport is returned as it is.
    /// - Returns: The transport to send through.
    func observed(in environment: ClientEnvironment) -> any HTTPTransport {
        environment.operations == nil || self is ObservedTransport
            ? self : ObservedTransport(transport: self, environment: environment)
    }
}

/// A transport with an observer around each request.
struct ObservedTransport: HTTPTransport {
    let transport: any HTTPTransport
    let environment: ClientEnvironment

    func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws(ExperimentationError) -> HTTPReply
    {
        try await environment.observed(
            .request(method: request.method.rawValue, host: request.authority ?? ""),
            outcome: { OperationOutcome(status: $0.status) }
        ) { fields throws(ExperimentationError) in
            try await transport.send(request.adding(fields), body: body, limits: limits)
        }
    }

    func stream(
        _ request: HTTPRequest,
        limits: HTTPLimits,
        receive: @escaping @Sendable (HTTPPart) -> Void
    ) async throws(ExperimentationError) -> HTTPResponse {
        try await transport.stream(request, limits: limits, receive: receive)
    }
}

extension HTTPRequest {
    /// The request with more header fields, except those that it already has and those that can't be sent.
    fileprivate func adding(_ fields: [String: String]) -> HTTPRequest {
        var request = self
        for (name, value) in fields {
            guard let name = HTTPField.Name(name), !name.isReserved, HTTPField.isValidValue(value),
                headerFields[name] == nil
            else { continue }
            request.headerFields[name] = value
        }
        return request
    }
}
