import Experimentation
import HTTPTypes

/// Exchanges one HTTP request for one response.
///
/// An engine doesn't retry, follow redirects or keep cookies; it ends by the deadline whatever the server does,
/// and reads no more than its limit.
public protocol HTTPTransport: Sendable {
    /// Sends a request and waits for the whole response.
    ///
    /// Any status is a response, not an error. Cancelling the task ends the exchange at once.
    ///
    /// - Parameters:
    ///   - request: The request; its header fields and path have been checked by `HTTPRequest.validated()`.
    ///   - body: The body; no body is sent for `GET` and `HEAD`.
    ///   - limits: The limits of the exchange.
    /// - Returns: The complete response.
    /// - Throws: `ErrorCode.timeout`, `ErrorCode.transport` if no complete response came, `ErrorCode.tooLarge`,
    ///   `ErrorCode.configuration` if retrying can't help (an untrusted certificate), and
    ///   `ErrorCode.cancelled`. All but the last name the host.
    func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws(ExperimentationError) -> HTTPReply

    /// Sends a request without a body, and passes on the response as it arrives.
    ///
    /// The parts are passed one after another, on whatever thread they arrive; the receiver must not wait or call back.
    /// An engine that can't stream passes everything at the end, which is the default.
    ///
    /// - Parameters:
    ///   - request: The request, as for ``send(_:body:limits:)``.
    ///   - limits: The limits of the exchange; the deadline applies to the whole response.
    ///   - receive: Takes the head, then the parts of the body.
    /// - Returns: The head, once the response is complete.
    /// - Throws: As ``send(_:body:limits:)``; earlier parts have already been passed on.
    func stream(
        _ request: HTTPRequest,
        limits: HTTPLimits,
        receive: @escaping @Sendable (HTTPPart) -> Void
    ) async throws(ExperimentationError) -> HTTPResponse
}

extension HTTPTransport {
    /// Waits for the whole response, then passes it on.
    public func stream(
        _ request: HTTPRequest,
        limits: HTTPLimits,
        receive: @escaping @Sendable (HTTPPart) -> Void
    ) async throws(ExperimentationError) -> HTTPResponse {
        let reply = try await send(request, body: [], limits: limits)
        receive(.head(reply.response))
        if !reply.body.isEmpty { receive(.body(reply.body)) }
        return reply.response
    }
}

/// A part of a response that is passed on as it arrives.
public enum HTTPPart: Sendable, Hashable {
    /// The status and the header fields of the final response; first, and once.
    case head(HTTPResponse)
    /// The next bytes of the body, decompressed.
    case body([UInt8])
}

/// The limits of one exchange.
public struct HTTPLimits: Sendable, Hashable {
    /// The time from the call to the last byte of the response: connecting, waiting and reading.
    public var deadline: Duration
    /// The maximum size of the response's body in bytes, after decompression.
    public var responseBytes: Int

    /// Creates limits.
    public init(deadline: Duration = .seconds(60), responseBytes: Int = 8 << 20) {
        self.deadline = deadline
        self.responseBytes = responseBytes
    }
}

/// A complete response.
public struct HTTPReply: Sendable, Hashable {
    /// The status and the header fields.
    public var response: HTTPResponse
    /// The body, decompressed.
    public var body: [UInt8]

    /// Creates a reply.
    public init(response: HTTPResponse, body: [UInt8] = []) {
        self.response = response
        self.body = body
    }

    /// The status code.
    public var status: Int { response.status.code }
    /// The body as a string; what isn't UTF-8 is replaced.
    public var text: String { String(decoding: body, as: UTF8.self) }
}
