import Experimentation
import Foundation
import HTTPTypes
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Collects each task's response, and ends tasks that the session would let run on.
final class SessionDelegate: NSObject, URLSessionDataDelegate {
    typealias Continuation = CheckedContinuation<Result<HTTPReply, ExperimentationError>, Never>

    static let cancelled = ExperimentationError(.cancelled, "the task was cancelled")

    private struct Pending {
        let limit: Int
        /// Takes the response as it arrives; `nil` to collect it.
        let receive: (@Sendable (HTTPPart) -> Void)?
        let continuation: Continuation
        var response: HTTPURLResponse?
        var received = 0
        var body: [UInt8] = []
    }

    private let pending = Mutex<[Int: Pending]>([:])

    /// Registers the caller of a task.
    func begin(
        _ task: URLSessionTask,
        limit: Int,
        receive: (@Sendable (HTTPPart) -> Void)? = nil,
        _ continuation: Continuation
    ) {
        pending.withLock {
            $0[task.taskIdentifier] = Pending(limit: limit, receive: receive, continuation: continuation)
        }
    }

    /// Fails the caller at once and abandons the task; does nothing if the caller has its answer.
    func end(_ task: URLSessionTask, with error: ExperimentationError) {
        guard let waiting = take(task) else { return }
        waiting.continuation.resume(returning: .failure(error))
        task.cancel()
    }

    private func take(_ task: URLSessionTask) -> Pending? {
        pending.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    }

    // MARK: Delegate methods

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        // The session handles only certificates; a 401 is an answer like any other.
        #if canImport(FoundationNetworking)
            completionHandler(.rejectProtectionSpace, nil)
        #else
            let isTrust = challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust
            completionHandler(isTrust ? .performDefaultHandling : .rejectProtectionSpace, nil)
        #endif
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let response = response as? HTTPURLResponse
        let receive = pending.withLock { pending in
            pending[dataTask.taskIdentifier]?.response = response
            return pending[dataTask.taskIdentifier]?.receive
        }
        if let receive, let response { receive(.head(Self.head(of: response))) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let (limit, receive) = pending.withLock { pending -> (Int?, (@Sendable (HTTPPart) -> Void)?) in
            guard let entry = pending[dataTask.taskIdentifier] else { return (nil, nil) }
            guard data.count <= entry.limit - entry.received else { return (entry.limit, nil) }
            pending[dataTask.taskIdentifier]?.received += data.count
            if let receive = entry.receive { return (nil, receive) }
            pending[dataTask.taskIdentifier]?.body.append(contentsOf: data)
            return (nil, nil)
        }
        receive?(.body([UInt8](data)))
        guard let limit else { return }
        end(dataTask, with: ExperimentationError(.tooLarge, "the response's body is larger than \(limit) bytes"))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let waiting = take(task) else { return }
        waiting.continuation.resume(returning: Self.outcome(waiting, task.response, error))
    }

    private static func outcome(
        _ waiting: Pending,
        _ response: URLResponse?,
        _ error: (any Error)?
    ) -> Result<HTTPReply, ExperimentationError> {
        if let error { return .failure(translated(error)) }
        guard let response = waiting.response ?? response as? HTTPURLResponse,
            (200...999).contains(response.statusCode)
        else { return .failure(ExperimentationError(.transport, "no valid status")) }
        return .success(HTTPReply(response: head(of: response), body: waiting.body))
    }

    private static func head(of response: HTTPURLResponse) -> HTTPResponse {
        var fields = HTTPFields()
        for case (let name as String, let value as String) in response.allHeaderFields {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        if fields[.contentEncoding] != nil {
            fields[.contentEncoding] = nil
            fields[.contentLength] = nil
        }
        return HTTPResponse(status: .init(code: min(max(response.statusCode, 0), 999)), headerFields: fields)
    }

    private static func translated(_ error: any Error) -> ExperimentationError {
        guard let error = error as? URLError else {
            return ExperimentationError(.transport, "no complete response came")
        }
        switch error.code {
        case .timedOut:
            return ExperimentationError(.timeout, "no complete response within the deadline")
        case .cancelled:
            return cancelled
        case .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
            .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired,
            .appTransportSecurityRequiresSecureConnection:
            return ExperimentationError(.configuration, "the server's certificate isn't trusted")
        case .badURL, .unsupportedURL:
            return ExperimentationError(.transport, "no valid answer came")
        default:
            // On Linux an untrusted certificate has no code of its own, only a message.
            if error.localizedDescription.localizedCaseInsensitiveContains("certificate") {
                return ExperimentationError(.configuration, "the server's certificate isn't trusted")
            }
            return ExperimentationError(.transport, "no complete response came (\(error.code.rawValue))")
        }
    }
}
