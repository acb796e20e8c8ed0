import Experimentation
import HTTPTypes

/// Something that can exchange one HTTP request for one response.
///
/// An engine neither retries nor follows redirects nor keeps cookies; it ends by the deadline whatever the server does,
/// and reads no more than it is allowed to.
public protocol HTTPTransport: Sendable {
    /// Sends a request and waits for the whole response.
    ///
    /// Any status is a response, not an error. Cancelling the task ends the exchange at once.
    ///
    /// - Parameters:
    ///   - request: The request; its header fields and path have been checked by `HTTPRequest.validated()`.
    ///   - body: The body; no body is sent for `GET` and `HEAD`.
    ///   - limits: What the exchange may cost.
    /// - Returns: The response, complete.
    /// - Throws: `ErrorCode.timeout`, `ErrorCode.transport` when no complete response came, `ErrorCode.tooLarge`,
    ///   `ErrorCode.configuration` when trying again can't help (a certificate that isn't trusted), and
    ///   `ErrorCode.cancelled`. All but the last name the host.
    func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws(ExperimentationError) -> HTTPReply

    /// Sends a request without a body, and hands the response on as it comes.
    ///
    /// The parts are handed over one after another, on whatever thread they come in; what takes them must not wait, and must
    /// not call back. An engine that can't do so hands everything over at the end, which is what happens unless it says how.
    ///
    /// - Parameters:
    ///   - request: The request, as for ``send(_:body:limits:)``.
    ///   - limits: What the exchange may cost; the deadline is that of the whole response.
    ///   - receive: Takes the head, then the parts of the body.
    /// - Returns: When the response is complete, its head.
    /// - Throws: As ``send(_:body:limits:)``; the parts that came before have been handed over then.
    func stream(
        _ request: HTTPRequest,
        limits: HTTPLimits,
        receive: @escaping @Sendable (HTTPPart) -> Void
    ) async throws(ExperimentationError) -> HTTPResponse
}

extension HTTPTransport {
    /// Waits for the whole response, and hands it over then.
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

/// A part of a response that is handed on as it comes.
public enum HTTPPart: Sendable, Hashable {
    /// The status and the header fields of the final response; first, and once.
    case head(HTTPResponse)
    /// The next bytes of the body, decompressed.
    case body([UInt8])
}

/// What one exchange may cost.
public struct HTTPLimits: Sendable, Hashable {
    /// From the call to the last byte of the response: connecting, waiting and reading.
    public var deadline: Duration
    /// How many bytes of the response's body are read, after decompression.
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
    /// The body as text; what isn't UTF-8 is replaced.
    public var text: String { String(decoding: body, as: UTF8.self) }
}
