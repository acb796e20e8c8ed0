#if canImport(Darwin)
    import Experimentation
    import HTTPTypes

    /// Exchanges HTTP requests through Foundation's `URLSession`; the default on Apple platforms.
    ///
    /// It follows no redirects, keeps no cookies, credentials or cache, and ends by the deadline whatever the session
    /// does.
    public struct URLSessionTransport: HTTPTransport {
        private let engine: SessionEngine

        /// Creates an engine with a session of its own, which is closed when the last copy is released.
        ///
        /// - Parameter connectionsPerHost: The maximum number of simultaneous connections to one host.
        public init(connectionsPerHost: Int = 64) {
            engine = SessionEngine(connectionsPerHost: connectionsPerHost)
        }

        /// Sends a request and waits for the whole response.
        ///
        /// - Parameters:
        ///   - request: The request; it is checked by `HTTPRequest.validated()`.
        ///   - body: The body; no body is sent for `GET` and `HEAD`.
        ///   - limits: The limits of the exchange.
        /// - Returns: The response, its body decompressed.
        /// - Throws: As ``HTTPTransport/send(_:body:limits:)``.
        public func send(
            _ request: HTTPRequest,
            body: [UInt8],
            limits: HTTPLimits
        ) async throws(ExperimentationError) -> HTTPReply {
            try await engine.send(request, body: body, limits: limits)
        }

        /// Sends a request without a body, and passes on the response as it arrives.
        ///
        /// - Parameters:
        ///   - request: The request; it is checked by `HTTPRequest.validated()`.
        ///   - limits: The limits of the exchange.
        ///   - receive: Takes the head, then the parts of the body.
        /// - Returns: The head, once the response is complete.
        /// - Throws: As ``HTTPTransport/send(_:body:limits:)``.
        public func stream(
            _ request: HTTPRequest,
            limits: HTTPLimits,
            receive: @escaping @Sendable (HTTPPart) -> Void
        ) async throws(ExperimentationError) -> HTTPResponse {
            try await engine.stream(request, limits: limits, receive: receive)
        }
    }
#endif
