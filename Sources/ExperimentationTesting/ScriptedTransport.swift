import AdapterKit
import Experimentation
import HTTPTypes
import Synchronization

/// A transport that answers from a script and records requests, for tests of adapters without a network.
///
/// ```swift
/// let transport = ScriptedTransport([.json(#"{"flags":{}}"#), .status(503)])
/// let provider = VendorProvider(configuration: configuration, transport: transport)
/// …
/// #expect(transport.requests.map(\.path) == ["/v1/flags"])
/// ```
public final class ScriptedTransport: HTTPTransport {
    /// A request that the transport received.
    public struct Exchange: Sendable, Hashable {
        /// The request, after validation.
        public var request: HTTPRequest
        /// The body.
        public var body: [UInt8]
        /// The limits of the exchange.
        public var limits: HTTPLimits

        /// The method, in capitals.
        public var method: String { request.method.rawValue }
        /// The path as written, without the query.
        public var path: String { String((request.path ?? "").prefix { $0 != "?" }) }
        /// The query as written; `nil` if there is none.
        public var query: String? {
            let parts = (request.path ?? "").split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count > 1 ? String(parts[1]) : nil
        }
        /// The body as a string.
        public var text: String { String(decoding: body, as: UTF8.self) }

        /// Creates an exchange.
        public init(request: HTTPRequest, body: [UInt8] = [], limits: HTTPLimits = HTTPLimits()) {
            self.request = request
            self.body = body
            self.limits = limits
        }
    }

    /// A scripted answer.
    public enum Answer: Sendable, Hashable {
        /// A response.
        case reply(HTTPReply)
        /// A transport error.
        case failure(ExperimentationError)
        /// No answer, until the task is cancelled.
        case silence

        /// A response with JSON.
        public static func json(_ text: String, status: Int = 200) -> Answer {
            body(text, type: "application/json", status: status)
        }

        /// A response with a body of any type.
        public static func body(_ text: String, type: String, status: Int = 200) -> Answer {
            .reply(
                HTTPReply(
                    response: HTTPResponse(
                        status: .init(code: min(max(status, 0), 999)),
                        headerFields: [.contentType: type]
                    ),
                    body: Array(text.utf8)
                )
            )
        }

        /// A response with only a status and header fields.
        public static func status(_ status: Int, headers: HTTPFields = [:]) -> Answer {
            .reply(
                HTTPReply(
                    response: HTTPResponse(status: .init(code: min(max(status, 0), 999)), headerFields: headers)
                )
            )
        }

        /// Compares by case and value; failures by code and message.
        public static func == (one: Answer, other: Answer) -> Bool {
            switch (one, other) {
            case (.reply(let one), .reply(let other)): one == other
            case (.failure(let one), .failure(let other)): one == other
            case (.silence, .silence): true
            default: false
            }
        }

        /// Hashes the case and value.
        public func hash(into hasher: inout Hasher) {
            switch self {
            case .reply(let reply): hasher.combine(reply)
            case .failure(let error): hasher.combine(error.message)
            case .silence: hasher.combine(0)
            }
        }
    }

    private struct State {
        var answers: [Answer]
        var exchanges: [Exchange] = []
        var waiters: [(count: Int, gate: AsyncGate)] = []
    }

    private let state: Mutex<State>
    private let respond: @Sendable (Exchange) -> Answer?

    /// Creates a transport that gives these answers in turn, and then fails with `ErrorCode.transport`.
    public init(_ answers: [Answer] = []) {
        state = Mutex(State(answers: answers))
        respond = { _ in nil }
    }

    /// Creates a transport that computes each answer from the request.
    public init(respond: @escaping @Sendable (Exchange) -> Answer) {
        state = Mutex(State(answers: []))
        self.respond = respond
    }

    /// The requests so far, in order.
    public var requests: [Exchange] { state.withLock { $0.exchanges } }

    /// The number of answers that haven't been used yet.
    public var answersLeft: Int { state.withLock { $0.answers.count } }

    /// Appends answers to the script.
    public func add(_ answers: Answer...) { state.withLock { $0.answers.append(contentsOf: answers) } }

    /// Waits until the transport has received this many requests, or this task is cancelled.
    public func waitForRequests(_ count: Int) async {
        let gate = AsyncGate()
        state.withLock { state in
            if state.exchanges.count >= count { gate.open() } else { state.waiters.append((count, gate)) }
        }
        await gate.wait()
    }

    /// Answers from the script.
    ///
    /// - Throws: The scripted error; what `HTTPRequest.validated()` throws; ``ErrorCode/transport`` when the script
    ///   has ended; ``ErrorCode/cancelled`` if the task was cancelled during a silence.
    public func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        let exchange = Exchange(request: try request.validated(), body: body, limits: limits)
        let scripted = enter(exchange)
        switch respond(exchange) ?? scripted {
        case .reply(let reply): return reply
        case .failure(let error): throw error
        case nil: throw ExperimentationError(.transport, "the script has no answer left")
        case .silence:
            await AsyncGate().wait()
            throw ExperimentationError(.cancelled, "the task was cancelled")
        }
    }

    private func enter(_ exchange: Exchange) -> Answer? {
        let (answer, waiters) = state.withLock { state in
            state.exchanges.append(exchange)
            let count = state.exchanges.count
            let content = state.waiters.filter { $0.count <= count }.map(\.gate)
            state.waiters.removeAll { $0.count <= count }
            return (state.answers.isEmpty ? nil : state.answers.removeFirst(), content)
        }
        for waiter in waiters { waiter.open() }
        return answer
    }
}
