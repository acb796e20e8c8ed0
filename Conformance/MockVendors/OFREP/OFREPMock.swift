import Foundation
import Synchronization

/// A server that speaks OFREP: both evaluations, and an event stream that announces each change of its flags.
///
/// It requires a token and validates requests against the protocol's API document. Its `ETag` is derived from the whole
/// answer and therefore covers the user's attributes.
public final class OFREPMock: MockVendor {
    /// The vendor's name.
    public static let name = "ofrep"
    /// The valid token, sent as `Authorization: Bearer …` or as `X-API-Key`.
    public static let token = "ofrep-mock-token"
    /// A token whose rate limit is exhausted.
    public static let exhaustedToken = "ofrep-mock-token-used-up"
    /// The maximum size of a request's body, in bytes.
    public static let largestQuestion = 1_000_000

    private struct State {
        var flags: [OFREPMockFlag] = []
        var version = 1
        var offersEvents = true
        var fault: OFREPMockFault?
        var serverFault: OFREPServerFault?
        var turn = 0
        var listeners: [Int: AsyncStream<[UInt8]>.Continuation] = [:]
        var lastListener = 0
        var intake: OFREPMockIntake?
    }

    private let state = Mutex(State())

    /// Creates a server without flags.
    public init() {}

    /// The server's address: everything before `/ofrep`.
    public func endpoints(at base: String) -> [String: String] { ["baseURL": base] }

    /// The token, under the name of an application's configuration.
    public var credentials: [String: String] { ["token": Self.token] }

    /// `flags` for all of them, `flag` for one, `events` for the stream, `intake` for events that clients send, or
    /// `unknown`.
    public func operation(of request: MockRequest) -> String {
        let segments = request.segments
        if segments == ["v1", "events"] { return takesEvents ? "intake" : "unknown" }
        guard segments.starts(with: ["ofrep", "v1"]) else { return "unknown" }
        return switch segments.dropFirst(2).first {
        case "evaluate" where segments.count == 4 && segments[3] == "flags": "flags"
        case "evaluate" where segments.count > 4 && segments[3] == "flags": "flag"
        case "sse" where segments.count == 3: "events"
        default: "unknown"
        }
    }

    /// Answers a request as the protocol or the injected fault says.
    public func respond(to request: MockRequest) async -> MockResponse {
        let (fault, turn, flags) = state.withLock { state in
            state.turn += 1
            return (state.serverFault, state.turn, state.flags.map(\.key))
        }
        guard let fault else { return answer(request) }
        return fault.spoil(answer(fault.misread(request), fault), to: request, flags: flags, turn: turn)
    }

    private func answer(_ request: MockRequest, _ serverFault: OFREPServerFault? = nil) -> MockResponse {
        let operation = operation(of: request)
        guard operation != "unknown" else { return Self.failure(404, code: "GENERAL", "there is nothing here") }
        guard request.method == (operation == "events" ? "GET" : "POST") else {
            var refusal = Self.failure(405, code: "GENERAL", "method not allowed")
            refusal.headers.append(.init("Allow", operation == "events" ? "GET" : "POST"))
            return refusal
        }
        let (fault, version) = state.withLock { ($0.fault, $0.version) }
        guard let token = Self.token(of: request), [Self.token, Self.exhaustedToken].contains(token) else {
            return MockResponse(status: 401)
        }
        guard token == Self.token else { return MockResponse(status: 429, headers: [.init("Retry-After", "30")]) }
        if operation == "events" { return fault?.streamHead ?? Self.streamHead }
        if operation == "intake" {
            return state.withLock { $0.intake?.answer(request) } ?? MockResponse(status: 404)
        }
        do throws(OFREPMockRefusal) {
            let question = try OFREPMockQuestion(request)
            let flags = state.withLock { $0.flags }
            let answer =
                operation == "flags"
                ? all(flags, question, request, serverFault)
                : Self.one(flags, question, request.segments.dropFirst(4), serverFault)
            return operation == "flags" ? fault?.spoil(answer, to: request, version: version) ?? answer : answer
        } catch {
            let key = operation == "flag" ? request.segments.dropFirst(4).joined(separator: "/") : nil
            return Self.failure(error.status, code: error.code, error.details, key: key)
        }
    }

    /// The events of a stream, from now on.
    public func pieces(answering request: MockRequest) async -> AsyncStream<[UInt8]>? {
        guard operation(of: request) == "events" else { return nil }
        let (fault, serverFault) = state.withLock { ($0.fault, $0.serverFault) }
        if let own = fault?.pieces ?? serverFault?.pieces() { return own }
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        // A comment makes proxies in between forward the head.
        continuation.yield(Array(": here\n\n".utf8))
        state.withLock { state in
            state.lastListener += 1
            let number = state.lastListener
            state.listeners[number] = continuation
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
            }
        }
        return stream
    }

    /// Ends all streams; keeps flags and settings.
    public func reset() async { endStreams() }

    /// Replaces the flags, `{"flags":{key:{…}}}`, and announces the change.
    public func load(_ world: Data) async throws(MockWorldError) {
        let flags = try OFREPMockFlag.read(world)
        state.withLock { state in
            state.flags = flags
            state.version += 1
        }
        tellChange()
    }

    /// Answers `GET /state`, `PUT /fault` with a fault's name as text, `DELETE /fault`, and `POST /change`.
    public func control(_ request: MockRequest) async -> MockResponse? {
        switch (request.method, request.path) {
        case ("GET", "/state"):
            let known = state.withLock { state in
                MockJSON.object([
                    "flags": .int(state.flags.count), "version": .int(state.version),
                    "listeners": .int(state.listeners.count),
                    "fault": state.fault.map { .string($0.rawValue) } ?? .null,
                ])
            }
            return .json(known.text)
        case ("PUT", "/fault"):
            let name = request.text.trimmingCharacters(in: .whitespacesAndNewlines)
            if let fault = OFREPMockFault(rawValue: name) {
                set(fault)
            } else if let fault = OFREPServerFault(rawValue: name) {
                set(server: fault)
            } else {
                let names = OFREPMockFault.allCases.map(\.rawValue) + OFREPServerFault.allCases.map(\.rawValue)
                return Self.failure(400, code: "GENERAL", "no such fault; there are \(names.joined(separator: ", "))")
            }
            return MockResponse(status: 204)
        case ("DELETE", "/fault"):
            set(nil)
            set(server: nil)
            return MockResponse(status: 204)
        case ("POST", "/change"):
            tellChange()
            return MockResponse(status: 204)
        default:
            return nil
        }
    }

    // MARK: In-process control

    /// Injects a fault that tests clients, or removes it.
    public func set(_ fault: OFREPMockFault?) { state.withLock { $0.fault = fault } }

    /// Injects a fault that tests a suite for servers, or removes it.
    public func set(server fault: OFREPServerFault?) { state.withLock { $0.serverFault = fault } }

    /// Sets whether answers offer the event stream.
    public func setOffersEvents(_ offers: Bool) { state.withLock { $0.offersEvents = offers } }

    /// Sets whether the server takes events outside the protocol, as this project's gateway does.
    public func setTakesEvents(_ takes: Bool) { state.withLock { $0.intake = takes ? OFREPMockIntake() : nil } }

    private var takesEvents: Bool { state.withLock { $0.intake != nil } }

    /// The accepted events in order, each as JSON with the number of the request for events that carried it.
    public var receivedEvents: [(json: String, request: Int)] {
        state.withLock { $0.intake?.accepted ?? [] }.map { ($0.event.text, $0.request) }
    }

    /// Returns ``receivedEvents``, and forgets them; their ids stay known.
    public func takeReceivedEvents() -> [(json: String, request: Int)] {
        (state.withLock { $0.intake?.take() } ?? []).map { ($0.event.text, $0.request) }
    }

    /// The number of open streams.
    public var listeners: Int { state.withLock { $0.listeners.count } }

    /// Makes all listeners evaluate again.
    public func tellChange() {
        let (version, listeners) = state.withLock { ($0.version, $0.listeners.values) }
        let data = #"{"type":"refetchEvaluation","etag":"version-\#(version)"}"#
        tell(state.withLock { $0.serverFault }?.data(data) ?? data, listeners)
    }

    /// Sends an event's data verbatim to all listeners.
    public func tell(_ data: String) { tell(data, state.withLock { $0.listeners.values }) }

    /// Ends all streams.
    public func endStreams() {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.finish() }
    }

    private func tell(_ data: String, _ listeners: some Sequence<AsyncStream<[UInt8]>.Continuation>) {
        for listener in listeners { listener.yield(Array("event: message\ndata: \(data)\n\n".utf8)) }
    }

    // MARK: Answers

    /// The token of a request, from either of the two fields.
    private static func token(of request: MockRequest) -> String? {
        guard let field = request.header("Authorization"), !field.isEmpty else { return request.header("X-API-Key") }
        let parts = field.split(separator: " ")
        return parts.count == 2 && parts[0].lowercased() == "bearer" ? String(parts[1]) : nil
    }

    private func all(
        _ flags: [OFREPMockFlag],
        _ question: OFREPMockQuestion,
        _ request: MockRequest,
        _ fault: OFREPServerFault?
    ) -> MockResponse {
        let items = flags.map { $0.item(for: question) }
        var answer: [String: MockJSON] = [
            "flags": .array(items.flatMap { fault?.spoil($0, isAlone: false) ?? [$0] })
        ]
        if state.withLock({ $0.offersEvents }) {
            answer["eventStreams"] = .array([
                .object(["type": "sse", "endpoint": .object(["requestUri": "/ofrep/v1/sse"])])
            ])
        }
        if takesEvents { answer["metadata"] = .object(["events": "/v1/events"]) }
        let body = MockJSON.object(answer).exact
        let tag = "\"\(OFREPMockFlag.hash(body))\""
        if Self.tags(request.header("If-None-Match")).contains(tag) {
            return MockResponse(status: 304, headers: [.init("ETag", tag)])
        }
        var response = Self.json(body)
        response.headers.append(.init("ETag", tag))
        return response
    }

    private static func one(
        _ flags: [OFREPMockFlag],
        _ question: OFREPMockQuestion,
        _ key: some Collection<String>,
        _ fault: OFREPServerFault?
    ) -> MockResponse {
        let key = key.joined(separator: "/")
        guard let flag = flags.first(where: { $0.key == key }) else {
            return failure(404, code: "FLAG_NOT_FOUND", "no flag has this key", key: key)
        }
        let item = fault?.spoil(flag.item(for: question), isAlone: true).first ?? flag.item(for: question)
        var response = json(item.exact)
        if item["errorCode"] != nil { response.status = 400 }
        return response
    }

    /// The tags of a list, including weak ones, which proxies produce, and ones whose quotes a client has dropped.
    private static func tags(_ list: String?) -> [String] {
        (list ?? "").split(separator: ",").map { tag in
            let tag = tag.trimmingCharacters(in: .whitespaces)
            let strong = tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
            return strong.contains("\"") ? strong : "\"\(strong)\""
        }
    }

    private static let streamHead = MockResponse(
        status: 200,
        headers: [.init("Content-Type", "text/event-stream"), .init("Cache-Control", "no-store")]
    )

    static func json(_ body: [UInt8]) -> MockResponse {
        MockResponse(status: 200, headers: [.init("Content-Type", "application/json")], body: body)
    }

    private static func failure(_ status: Int, code: String, _ details: String, key: String? = nil) -> MockResponse {
        var members: [String: MockJSON] = ["errorCode": .string(code), "errorDetails": .string(details)]
        if let key { members["key"] = .string(key) }
        var answer = json(MockJSON.object(members).bytes)
        answer.status = status
        return answer
    }
}
