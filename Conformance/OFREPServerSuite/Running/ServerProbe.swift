import AdapterKit
import Experimentation
import HTTPTypes
import Synchronization

/// The tools of a case: the server, what the survey found, and the failures.
final class ServerProbe: Sendable {
    /// Thrown when a case doesn't apply, with the reason.
    struct Skipped: Error {
        let reason: String
    }

    private struct State {
        var failures: [String] = []
        var exchanges: [String] = []
        var expectations = 0
    }

    let server: OFREPServer
    let survey: Survey
    private let time: Duration
    private let transport: any HTTPTransport
    private let redaction: Redaction
    private let state = Mutex(State())

    init(_ server: OFREPServer, survey: Survey, time: Duration, transport: any HTTPTransport) {
        self.server = server
        self.survey = survey
        self.time = time
        self.transport = transport
        let tokens = [server.token, server.declaration.otherToken, server.declaration.exhaustedToken]
        redaction = Redaction(tokens: tokens.compactMap { $0?.reveal() }, streams: survey.streams)
    }

    var context: [String: FlagValue] { server.declaration.context }
    var declaration: ServerDeclaration { server.declaration }
    var failures: [String] { state.withLock { $0.failures } }
    var exchanges: [String] { state.withLock { $0.exchanges } }
    /// Whether no expectation was checked.
    var isIdle: Bool { state.withLock { $0.expectations == 0 } }

    // MARK: Asking

    /// Sends a request on a connection of its own.
    @discardableResult
    func ask(_ ask: Ask) async throws -> Reply {
        let reply = server.takesBytes ? try await askInBytes(ask) : try await askByTransport(ask)
        note(ask, reply)
        return reply
    }

    private func askInBytes(_ ask: Ask) async throws -> Reply {
        let reply = try await Connection.open(to: server, within: time) { connection in
            try await connection.send(ask.bytes(to: self.server))
            return try await connection.reply(to: ask.method)
        }
        guard let reply else {
            note(ask, nil)
            throw Trouble.ended("the server closed the connection without an answer")
        }
        return reply
    }

    private func askByTransport(_ ask: Ask) async throws -> Reply {
        guard let method = HTTPRequest.Method(ask.method) else {
            throw Skipped(reason: "\(ask.method) can't be sent over TLS")
        }
        let path = server.address.path + ask.path
        var request = HTTPRequest(method: method, scheme: "https", authority: server.address.authority, path: path)
        for (name, value) in ask.accessFields(of: server) + ask.fields {
            if let name = HTTPField.Name(name) { request.headerFields[name] = value }
        }
        do throws(ExperimentationError) {
            let reply = try await transport.send(request, body: ask.body, limits: HTTPLimits(deadline: time))
            let fields = reply.response.headerFields.map { Reply.Field(name: $0.name.canonicalName, value: $0.value) }
            return Reply(status: reply.status, fields: fields, body: reply.body)
        } catch {
            if error.code == .invalidArgument { throw Skipped(reason: "this can't be sent over TLS: \(error.message)") }
            throw Trouble.ended(error.message)
        }
    }

    /// Opens a connection for raw bytes.
    func connect<Value: Sendable>(_ body: (Connection) async throws -> Value) async throws -> Value {
        try await Connection.open(to: server, within: time, body)
    }

    /// Sends a text on a connection of its own, and returns everything received until the server closes.
    func say(_ text: String) async throws -> String {
        let heard = try await connect { connection in
            try await connection.send(text)
            return try await connection.rest()
        }
        tell("→ \(redaction.shown(text.utf8, atMost: 300))\n← \(redaction.shown(heard.utf8, atMost: 600))")
        return heard
    }

    /// The first lines of a hand-written request: request line, host and token.
    func head(_ method: String = "POST", _ path: String = Ask.flags, _ more: String = "") -> String {
        let access = Ask().accessFields(of: server).map { "\($0.name): \($0.value)\r\n" }.joined()
        return
            "\(method) \(server.address.path)\(path) HTTP/1.1\r\nHost: \(server.address.authority)\r\n\(access)\(more)"
    }

    // MARK: Expecting

    /// Notes a failure unless a condition is met.
    @discardableResult
    func expect(_ condition: Bool, _ otherwise: @autoclosure () -> String) -> Bool {
        state.withLock { $0.expectations += 1 }
        if !condition { fail(otherwise()) }
        return condition
    }

    /// Notes a failure.
    func fail(_ failure: String) {
        state.withLock { state in
            state.expectations += 1
            state.failures.append(redaction.shown(failure.utf8))
        }
    }

    /// Notes that an answer can't be read.
    func fail(_ answer: ReplyReader.Malformed) {
        let found = redaction.shown(answer.found, atMost: 80)
        fail(answer.description + (found.isEmpty ? "" : ": \(found)"))
    }

    /// Creates the error that ends a case which doesn't apply to this server.
    func skip(_ reason: String) -> Skipped { Skipped(reason: reason) }

    /// Expects a status.
    @discardableResult
    func expect(_ reply: Reply, is statuses: Int..., to question: String) -> Bool {
        let expected = statuses.map { String($0) }.joined(separator: " or ")
        return expect(statuses.contains(reply.status), "\(question): expected \(expected), found \(reply.status)")
    }

    // MARK: What happened

    private func note(_ ask: Ask, _ reply: Reply?) {
        let answer = reply.map { "\($0.status) \(redaction.shown($0.body, atMost: 600))" } ?? "no answer"
        let path = redaction.shown(ask.path.utf8, atMost: 200)
        tell("\(ask.method) \(path) \(redaction.shown(ask.body, atMost: 200)) → \(answer)")
    }

    /// Notes an exchange, which has been redacted.
    private func tell(_ text: String) {
        state.withLock { state in if state.exchanges.count < 40 { state.exchanges.append(text) } }
    }
}
