import Experimentation
import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Exchanges HTTP requests through Foundation's `URLSession`, and ends by the deadline whatever the session does.
///
/// Open to applications as ``URLSessionTransport`` on Apple platforms alone. On Linux it is compiled for the sake of its tests:
/// there Foundation ends the process over an answer that never becomes a final one, delivers a body whole although it was told
/// to stop, and has no answer to a Basic challenge (`docs/decisions/0022-transports.md`).
package final class SessionEngine: HTTPTransport {
    private let session: URLSession
    private let delegate: SessionDelegate

    /// Creates an engine with a session of its own.
    ///
    /// - Parameter connectionsPerHost: How many connections to one host there may be at once.
    package init(connectionsPerHost: Int) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = max(1, connectionsPerHost)
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        // Deadlines are the transport's own: the session's timer restarts with each byte.
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
    ///   - limits: What the exchange may cost.
    /// - Returns: The response, its body decompressed.
    /// - Throws: As ``HTTPTransport/send(_:body:limits:)`` has it.
    package func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        try await exchange(request, body: body, limits: limits, receive: nil)
    }

    /// Sends a request without a body, and hands the response on as it comes, on the session's queue.
    ///
    /// - Parameters:
    ///   - request: The request; it is checked by `HTTPRequest.validated()`.
    ///   - limits: What the exchange may cost.
    ///   - receive: Takes the head, then the parts of the body.
    /// - Returns: When the response is complete, its head.
    /// - Throws: As ``HTTPTransport/send(_:body:limits:)`` has it.
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
        let timer = Task { [delegate] in
            try await Task.sleep(for: limits.deadline)
            delegate.end(task, with: ExperimentationError(.timeout, "no complete response within the deadline"))
        }
        defer { timer.cancel() }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                delegate.begin(task, limit: limits.responseBytes, receive: receive, continuation)
                if Task.isCancelled { delegate.end(task, with: SessionDelegate.cancelled) } else { task.resume() }
            }
        } onCancel: {
            delegate.end(task, with: SessionDelegate.cancelled)
        }
        return try outcome.mapError(request.failed).get()
    }
}
