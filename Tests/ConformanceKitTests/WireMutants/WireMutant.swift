import AdapterKit
import ConformanceKit
import Experimentation
import HTTPTypes
import Testing

/// A mistake that an adapter could make on its wire, and the case that must find it.
///
/// Applied between the adapter and its transport: changes the adapter's requests or the vendor's answers as if the
/// adapter had encoded or decoded them wrongly.
struct WireMutant: Sendable, CustomTestStringConvertible {
    /// A request before it is sent.
    struct Sent: Sendable {
        var request: HTTPRequest
        var body: [UInt8]

        /// The path without its query.
        var path: String { String((request.path ?? "").prefix { $0 != "?" }) }

        /// Changes a JSON body.
        mutating func change(_ change: (inout FlagValue) -> Void) {
            guard var value = try? JSON.parse(body) else { return }
            change(&value)
            body = (try? JSON.encode(value)) ?? body
        }

        /// Changes the body as text.
        mutating func replace(_ text: String, _ replacement: String) {
            body = Array(String(decoding: body, as: UTF8.self).replacing(text, with: replacement).utf8)
        }
    }

    typealias Sending = @Sendable (inout Sent) -> Void
    typealias Answering = @Sendable (Sent, inout HTTPReply) -> Void

    let name: String
    let caughtBy: String
    let send: Sending
    let answer: Answering

    var testDescription: String { "\(name), caught by \(caughtBy)" }

    /// Changes the adapter's requests.
    init(_ name: String, caughtBy: String, send: @escaping Sending) {
        self.name = name
        self.caughtBy = caughtBy
        self.send = send
        answer = { _, _ in }
    }

    /// Changes the vendor's answers.
    init(_ name: String, caughtBy: String, answer: @escaping Answering) {
        self.name = name
        self.caughtBy = caughtBy
        send = { _ in }
        self.answer = answer
    }

    /// Changes JSON requests to paths with a suffix.
    init(
        _ name: String,
        on end: String,
        caughtBy: String,
        sent change: @escaping @Sendable (inout FlagValue) -> Void
    ) {
        self.init(name, caughtBy: caughtBy, send: { if $0.path.hasSuffix(end) { $0.change(change) } })
    }

    /// Changes JSON answers on paths with a suffix.
    init(
        _ name: String,
        on end: String,
        caughtBy: String,
        answered change: @escaping @Sendable (inout FlagValue) -> Void
    ) {
        self.init(
            name,
            caughtBy: caughtBy,
            answer: { sent, reply in
                guard sent.path.hasSuffix(end), var value = try? JSON.parse(reply.body) else { return }
                change(&value)
                reply.body = (try? JSON.encode(value)) ?? reply.body
            }
        )
    }

    /// Mistakes a status for another one.
    init(_ name: String, on end: String, status: Int, as other: Int, body: String? = nil, caughtBy: String) {
        self.init(
            name,
            caughtBy: caughtBy,
            answer: { sent, reply in
                guard sent.path.hasSuffix(end), reply.status == status else { return }
                reply.response.status = .init(code: other)
                if let body {
                    reply.body = Array(body.utf8)
                    reply.response.headerFields[.contentType] = "application/json"
                }
            }
        )
    }

    /// Ignores `Retry-After`.
    static func deafToRetryAfter(on end: String) -> WireMutant {
        WireMutant(
            "overlooks Retry-After",
            caughtBy: "outages/retry-after-is-honoured",
            answer: { sent, reply in
                if sent.path.hasSuffix(end) { reply.response.headerFields[.retryAfter] = nil }
            }
        )
    }
}

/// Applies a mutant between an adapter and its transport.
struct MutatingTransport: HTTPTransport {
    let inner: any HTTPTransport = DefaultTransport.make()
    let mutant: WireMutant

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        var sent = WireMutant.Sent(request: request, body: body)
        mutant.send(&sent)
        var reply = try await inner.send(sent.request, body: sent.body, limits: limits)
        mutant.answer(sent, &reply)
        return reply
    }
}
