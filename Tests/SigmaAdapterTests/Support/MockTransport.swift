import AdapterKit
import Experimentation
import HTTPTypes
import MockVendors
import Synchronization
import Waiting

/// Passes requests to the mock vendor in the same process, and records them.
final class MockTransport: HTTPTransport {
    private struct State {
        var requests: [HTTPRequest] = []
        var limits: [HTTPLimits] = []
        var isReachable = true
        var held: (gate: AsyncGate, path: String?)?
        var abandoned = 0
    }

    private let vendor: SigmaMock
    private let state = Mutex(State())

    init(_ vendor: SigmaMock) { self.vendor = vendor }

    /// All requests so far.
    var requests: [HTTPRequest] { state.withLock { $0.requests } }
    /// The limits of each request.
    var limits: [HTTPLimits] { state.withLock { $0.limits } }
    /// The paths of all requests so far.
    var paths: [String] { requests.map { $0.path ?? "" } }

    /// Disconnects or reconnects the vendor.
    func setReachable(_ isReachable: Bool) { state.withLock { $0.isReachable = isReachable } }

    /// Holds requests back on arrival, all or those with a path, or releases them.
    func hold(_ isHeld: Bool, path: String? = nil) {
        let former = state.withLock { state in
            defer { state.held = isHeld ? (AsyncGate(), path) : nil }
            return state.held
        }
        former?.gate.open()
    }

    /// How many requests were cancelled while they were held back.
    var abandoned: Int { state.withLock { $0.abandoned } }

    /// Waits until a number of requests have arrived.
    func waitForRequests(_ count: Int) async throws {
        try await eventually("requests") { requests.count >= count }
    }

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        let (isReachable, held) = state.withLock { state in
            state.requests.append(request)
            state.limits.append(limits)
            return (state.isReachable, state.held)
        }
        if let held, (held.path ?? request.path) == request.path, await !held.gate.wait() {
            state.withLock { $0.abandoned += 1 }
            throw ExperimentationError(.cancelled, "the task was cancelled")
        }
        guard isReachable else { throw ExperimentationError(.transport, "no connection") }
        let answer = await vendor.respond(
            to: MockRequest(
                method: request.method.rawValue,
                path: request.path ?? "",
                headers: request.headerFields.map { .init($0.name.rawName, $0.value) }
            )
        )
        guard answer.fault == nil else { throw ExperimentationError(.transport, "the connection was reset") }
        return HTTPReply(response: HTTPResponse(status: .init(code: answer.status)), body: answer.body)
    }
}
