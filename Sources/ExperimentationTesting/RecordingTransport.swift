import AdapterKit
import Experimentation
import HTTPTypes
import Synchronization

/// The HTTP exchanges of a session with a vendor, for keeping in a file and playing back without a network.
///
/// Header fields of requests are left out, because they hold credentials, and so are cookies. In queries, forms and
/// JSON, the values of known credentials are replaced: `client_secret`, `refresh_token`, `access_token`, `password` and
/// the like; so are all values in the query of a stream of events, both where a server announces the stream and where a
/// client requests it. Everything else is kept unchanged and may hold users' data, or credentials under other names:
/// look at a recording before you share it.
public struct Recording: Sendable, Hashable, Codable {
    /// One exchange.
    public struct Exchange: Sendable, Hashable, Codable {
        /// The request's method, in capitals.
        public var method: String
        /// The request's path, including its query.
        public var path: String
        /// The request's body.
        public var body: [UInt8]
        /// The response's status; `nil` if none came.
        public var status: Int?
        /// The response's header fields.
        public var fields: [Field] = []
        /// The response's body.
        public var answer: [UInt8] = []
        /// Why no response came.
        public var error: ErrorCode?
    }

    /// A header field.
    public struct Field: Sendable, Hashable, Codable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String
    }

    /// The exchanges, in the order in which they ended.
    public var exchanges: [Exchange]

    /// Creates a recording.
    public init(exchanges: [Exchange] = []) { self.exchanges = exchanges }
}

/// A transport that records what passes through another one.
///
/// ```swift
/// let recorder = RecordingTransport(DefaultTransport.make())
/// let provider = VendorProvider(configuration: configuration, transport: recorder)
/// …                                                            // a visit, with the real vendor
/// try JSONEncoder().encode(recorder.recording).write(to: file)
/// ```
///
/// ```swift
/// let recording = try JSONDecoder().decode(Recording.self, from: Data(contentsOf: file))
/// let provider = VendorProvider(configuration: configuration, transport: ScriptedTransport(playing: recording))
/// ```
public final class RecordingTransport: HTTPTransport {
    private let inner: any HTTPTransport
    private let exchanges = Mutex<[Recording.Exchange]>([])

    /// Creates a transport over another one.
    public init(_ inner: any HTTPTransport) { self.inner = inner }

    /// What has passed through so far.
    public var recording: Recording { Recording(exchanges: exchanges.withLock { $0 }) }

    /// Sends a request through the other transport, and records the outcome.
    ///
    /// - Throws: What the other transport throws.
    public func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        var exchange = Recording.Exchange(
            method: request.method.rawValue,
            path: Redaction.path(request.path ?? "", isSecret: request.asksForStream),
            body: Redaction.body(body)
        )
        do throws(ExperimentationError) {
            let reply = try await inner.send(request, body: body, limits: limits)
            exchange.status = reply.status
            exchange.fields = reply.response.headerFields.filter { $0.name != .setCookie }
                .map { Recording.Field(name: $0.name.rawName, value: $0.value) }
            exchange.answer = Redaction.body(reply.body)
            exchanges.withLock { $0.append(exchange) }
            return reply
        } catch {
            exchange.error = error.code
            exchanges.withLock { $0.append(exchange) }
            throw error
        }
    }
}

extension ScriptedTransport {
    /// Creates a transport that plays back a recording.
    ///
    /// A request gets the first unused response recorded for its method, path and body, and after the last one, that
    /// one again. Credentials, which a recording doesn't hold, may differ. A request that was never recorded fails with
    /// `ErrorCode.transport`.
    ///
    /// - Parameter recording: The recording.
    public convenience init(playing recording: Recording) {
        let reel = Reel(recording)
        self.init { exchange in reel.answer(to: exchange) }
    }

    /// The responses by request.
    private final class Reel: Sendable {
        struct Question: Hashable {
            var method: String
            var path: String
            var body: [UInt8]

            init(_ method: String, _ path: String, _ body: [UInt8], isStream: Bool = false) {
                self.method = method
                self.path = Redaction.path(path, isSecret: isStream)
                self.body = Redaction.body(body)
            }
        }
        private let answers: Mutex<[Question: [Answer]]>

        init(_ recording: Recording) {
            let asked = Dictionary(grouping: recording.exchanges) { Question($0.method, $0.path, $0.body) }
            answers = Mutex(asked.mapValues { $0.map(\.scripted) })
        }

        func answer(to exchange: Exchange) -> Answer {
            let question = Question(
                exchange.method,
                exchange.request.path ?? "",
                exchange.body,
                isStream: exchange.request.asksForStream
            )
            return answers.withLock { answers in
                guard let left = answers[question], let first = left.first else {
                    return .failure(ExperimentationError(.transport, "the recording has no answer to this request"))
                }
                if left.count > 1 { answers[question]?.removeFirst() }
                return first
            }
        }
    }
}

extension HTTPRequest {
    /// Whether this asks for a stream of events, whose address carries a ticket.
    fileprivate var asksForStream: Bool { headerFields[.accept] == "text/event-stream" }
}

extension Recording.Exchange {
    /// The exchange as a scripted answer.
    fileprivate var scripted: ScriptedTransport.Answer {
        guard let status else {
            return .failure(ExperimentationError(error ?? .transport, "as it was recorded"))
        }
        var headers = HTTPFields()
        for field in fields {
            if let name = HTTPField.Name(field.name) { headers.append(HTTPField(name: name, value: field.value)) }
        }
        let head = HTTPResponse(status: .init(code: min(max(status, 0), 999)), headerFields: headers)
        return .reply(HTTPReply(response: head, body: answer))
    }
}
