import Experimentation
import HTTPTypes

/// Sends requests through a transport, retries where that makes sense, and ends by one deadline over all attempts.
///
/// ```swift
/// let client = HTTPClient(transport: DefaultTransport.make(), retry: HTTPRetry(attempts: 3), environment: environment)
/// let reply = try await client.send(endpoint.request(.get, path: ["config.json"]))
/// ```
public struct HTTPClient: Sendable {
    private let transport: any HTTPTransport
    private let retry: HTTPRetry
    private let environment: ClientEnvironment

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - transport: Exchanges one request for one response.
    ///   - retry: How often to try, unless a call states otherwise; once by default.
    ///   - environment: The clock, jitter, and the log.
    public init(
        transport: any HTTPTransport,
        retry: HTTPRetry = .none,
        environment: ClientEnvironment = ClientEnvironment()
    ) {
        self.transport = transport.observed(in: environment)
        self.retry = retry
        self.environment = environment
    }

    /// Sends a request and waits for the whole response.
    ///
    /// Any status is a response, not an error; the last attempt's response is returned as it is. No retry begins whose
    /// wait would exceed the deadline.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: The body; `GET` and `HEAD` send none.
    ///   - limits: The limits of the whole call, including all attempts and the waits between them.
    ///   - retry: How often to try; `nil` for the client's policy.
    /// - Returns: The last attempt's response.
    /// - Throws: What ``HTTPTransport/send(_:body:limits:)`` throws in the last attempt.
    public func send(
        _ request: HTTPRequest,
        body: [UInt8] = [],
        limits: HTTPLimits = HTTPLimits(),
        retry: HTTPRetry? = nil
    ) async throws(ExperimentationError) -> HTTPReply {
        let message = HTTPMessage(request, body: body)
        return try await send(limits: limits, retry: retry) { message }
    }

    /// Sends a message as ``send(_:body:limits:retry:)`` does, made anew for each attempt.
    ///
    /// For messages whose content may no longer hold at a later attempt, such as a user's consent.
    package func send(
        limits: HTTPLimits = HTTPLimits(),
        retry: HTTPRetry? = nil,
        each make: () throws(ExperimentationError) -> HTTPMessage
    ) async throws(ExperimentationError) -> HTTPReply {
        let retry = retry ?? self.retry
        let deadline = environment.time.instant.advanced(by: limits.deadline)
        var attempt = 1
        while true {
            let message = try make()
            let request = try message.request.validated()
            let outcome = await self.attempt(
                request,
                message.body,
                limits,
                until: deadline,
                atMost: retry.attemptLimit
            )
            guard attempt < retry.attempts, let asked = wait(after: outcome, retry) else { return try outcome.get() }
            let wait = max(asked, retry.backoff.delay(before: attempt, jitter: environment.jitter()))
            let next = environment.time.instant.advanced(by: wait)
            guard next < deadline else { return try outcome.get() }
            log(outcome, request, attempt: attempt, wait: wait)
            do { try await environment.time.sleep(until: next) } catch {
                throw ExperimentationError(.cancelled, "the task was cancelled between two attempts")
            }
            attempt += 1
        }
    }

    /// Sends a message as ``send(_:body:limits:retry:)`` sends a request and its body.
    public func send(
        _ message: HTTPMessage,
        limits: HTTPLimits = HTTPLimits(),
        retry: HTTPRetry? = nil
    ) async throws(ExperimentationError) -> HTTPReply {
        try await send(message.request, body: message.body, limits: limits, retry: retry)
    }

    private func attempt(
        _ request: HTTPRequest,
        _ body: [UInt8],
        _ limits: HTTPLimits,
        until deadline: ContinuousClock.Instant,
        atMost attemptLimit: Duration?
    ) async -> Result<HTTPReply, ExperimentationError> {
        var limits = limits
        limits.deadline = deadline - environment.time.instant
        if let attemptLimit { limits.deadline = min(limits.deadline, attemptLimit) }
        guard limits.deadline > .zero else {
            return .failure(request.failed(.init(.timeout, "the deadline passed before the request was sent")))
        }
        do throws(ExperimentationError) {
            return .success(try await transport.send(request, body: body, limits: limits))
        } catch {
            return .failure(error)
        }
    }

    /// Returns how long to wait before another attempt, or `nil` if none makes sense.
    private func wait(after outcome: Result<HTTPReply, ExperimentationError>, _ retry: HTTPRetry) -> Duration? {
        switch outcome {
        case .failure(let error):
            retry.allows(error) ? .zero : nil
        case .success(let reply):
            if retry.statuses.contains(reply.status) {
                reply.retryAfter(at: environment.time.now) ?? .zero
            } else {
                nil
            }
        }
    }

    private func log(
        _ outcome: Result<HTTPReply, ExperimentationError>,
        _ request: HTTPRequest,
        attempt: Int,
        wait: Duration
    ) {
        let reason =
            switch outcome {
            case .success(let reply): "status \(reply.status)"
            case .failure(let error): error.code.rawValue
            }
        // The path may hold a user's id, so only the host is logged.
        environment.log.log(
            .debug,
            "http.retry",
            "\(request.method) to \(request.authority ?? ""): \(reason); trying again in \(wait)",
            fields: ["host": request.authority ?? "", "attempt": "\(attempt)", "reason": reason]
        )
    }
}
