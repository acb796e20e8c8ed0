#if os(Linux)
    import Experimentation
    import HTTPTypes

    /// Exchanges HTTP requests through libcurl, on threads of the engine's own.
    ///
    /// It speaks HTTP/1.1 with keep-alive, verifies certificates, follows no redirects, keeps no cookies, reads no
    /// `.netrc` and retries nothing. It keeps the limits of a call to the millisecond and to the byte, after
    /// decompression. Proxies named in the environment (`https_proxy` and the like) are ignored unless the
    /// configuration says otherwise.
    ///
    /// A thread starts with a request, and ends after a quarter of a minute without one or when the transport is
    /// released; requests still in progress then end with `ErrorCode.shutDown`. There is one thread; with at least 16
    /// connections per host, a second thread starts once more than four requests are under way.
    public final class CurlTransport: HTTPTransport {
        /// The settings.
        public typealias Configuration = CurlConfiguration

        let drivers: CurlDrivers
        private let checks = RequestChecks()

        /// Creates an engine; nothing is opened before the first request.
        public convenience init(configuration: Configuration = Configuration()) {
            self.init(configuration: configuration, idleTime: .seconds(15))
        }

        /// Creates an engine whose threads end after this time without a request.
        convenience init(configuration: Configuration, idleTime: Duration) {
            self.init(CurlDrivers(configuration) { CurlDriver($0, idleTime: idleTime) })
        }

        /// Creates an engine with these drivers.
        init(_ drivers: CurlDrivers) { self.drivers = drivers }

        deinit {
            for driver in drivers.open { driver.stop() }
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
            try await exchange(request, body: body, limits: limits, receive: nil)
        }

        /// Sends a request without a body, and passes on the response as it arrives, on a thread of the engine or
        /// of the caller.
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
            try await exchange(request, body: [], limits: limits, receive: receive).response
        }

        private func exchange(
            _ request: HTTPRequest,
            body: [UInt8],
            limits: HTTPLimits,
            receive: (@Sendable (HTTPPart) -> Void)?
        ) async throws(ExperimentationError) -> HTTPReply {
            let request = try checks.validated(request)
            guard limits.deadline > .zero else {
                throw request.failed(.init(.timeout, "the deadline passed before the request was sent"))
            }
            let ticket = CurlTicket()
            let ending = await drivers.with { driver, isAlone in
                await withTaskCancellationHandler {
                    await withUnsafeContinuation { continuation in
                        driver.submit(
                            CurlExchange(
                                ticket: ticket,
                                request: request,
                                body: body,
                                limits: limits,
                                receive: receive,
                                continuation: continuation
                            ),
                            isAlone: isAlone
                        )
                    }
                } onCancel: {
                    driver.cancel(ticket)
                }
            }
            // The continuation of a call must outlive the engine, whose last owner may be this very task.
            withExtendedLifetime(self) {}
            guard let ending else { throw request.failed(CurlOutcome.exhausted) }
            return try ending.outcome.mapError(request.failed).get()
        }
    }
#endif
