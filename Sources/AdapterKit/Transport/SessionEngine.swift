import Experimentation
import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Exchanges HTTP requests through Foundation's `URLSession`, and ends by the deadline whatever the session does.
///
/// On Apple platforms applications use it as ``URLSessionTransport``. On Linux it is compiled only for its tests: there
/// Foundation ends the process on an answer that never becomes a final one, delivers a whole body although it was told
/// to stop, and can't answer a Basic challenge (`docs/decisions/0022-transports.md`).
package final class SessionEngine: HTTPTransport {
    private let session: URLSession
    private let delegate: SessionDelegate

    /// Creates an engine with a session of its own.
    ///
    /// - Parameter connectionsPerHost: The maximum number of simultaneous connections to one host.
    package init(connectionsPerHost: Int) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = max(1, connectionsPerHost)
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        // The transport keeps its own deadlines: the session's timer restarts with each byte.
        configuration.timeoutIntervalForRequest = 86_400
        configuration.timeoutIntervalForResource = 86_400
        delegate = SessionDelegate()
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    deinit { session.invalidateAndCancel() }

    /// Sends a request and waits for the whole response.
    ///
    /// - Parameters:
    ///   - request: The request; it is checked by `HTTPRequest.validated()`.
    ///   - body: The body; no body is sent for `GET` and `HEAD`.
    ///   - limits: The limits of the exchange.
    /// - Returns: The response, its body decompressed.
    /// - Throws: As ``HTTPTransport/send(_:body:limits:)``.
    package func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        try await exchange(request, body: body, limits: limits, receive: nil)
    }

    /// Sends a request without a body, and passes on the response as it arrives, on the session's queue.
    ///
    /// - Parameters:
    ///   - request: The request; it is checked by `HTTPRequest.validated()`.
    ///   - limits: The limits of the exchange.
    ///   - receive: Takes the head, then the parts of the body.
    /// - Returns: The head, once the response is complete.
    /// - Throws: As ``HTTPTransport/send(_:body:limits:)``.
    package func stream(
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
        let request = try request.validated()
        guard limits.deadline > .zero else {
            throw request.failed(.init(.timeout, "the deadline passed before the request was sent"))
        }
        guard let url = URL(string: request.address) else {
            throw ExperimentationError(.configuration, "the address can't be used")
        }
        var message = URLRequest(url: url)
        message.httpMethod = request.method.rawValue
        for field in request.headerFields { message.addValue(field.value, forHTTPHeaderField: field.name.rawName) }
        if request.method != .get, request.method != .head { message.httpBody = Data(body) }
        let task = session.dataTask(with: message)
        var timer: Task<Void, any Error>?
        defer { timer?.cancel() }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                delegate.begin(task, limit: limits.responseBytes, receive: receive, continuation)
                // Started only now: a short deadline may pass at once, and must find a registered caller to end.
                timer = Task { [delegate] in
                    try await Task.sleep(for: limits.deadline)
                    delegate.end(task, with: ExperimentationError(.timeout, "no complete response within the deadline"))
                }
                if Task.isCancelled { delegate.end(task, with: SessionDelegate.cancelled) } else { task.resume() }
            }
        } onCancel: {
            delegate.end(task, with: SessionDelegate.cancelled)
        }
        return try outcome.mapError(request.failed).get()
    }
}
