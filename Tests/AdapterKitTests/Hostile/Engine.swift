import AdapterKit
import Experimentation
import HTTPTypes
import Testing

/// The engines tested against the hostile server.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    #if os(Linux)
        case curl
    #endif
    case urlSession

    var testDescription: String { rawValue }

    /// The engines that support cancellation in mid-exchange and survive answers that aren't HTTP.
    ///
    /// Either one crashes the process with Foundation's session on Linux (`docs/decisions/0022-transports.md`), which
    /// is therefore tested only with exchanges that complete.
    static let hardened: [Engine] = {
        #if os(Linux)
            [.curl]
        #else
            allCases
        #endif
    }()

    func make() -> any HTTPTransport {
        switch self {
        #if os(Linux)
            case .curl: CurlTransport()
        #endif
        case .urlSession: SessionEngine(connectionsPerHost: 64)
        }
    }
}

/// Sends a request to a raw server and returns the outcome.
func exchange(
    _ engine: Engine,
    _ server: RawServer,
    _ method: HTTPRequest.Method = .get,
    path: String = "/x",
    headers: HTTPFields = [:],
    body: String = "",
    limits: HTTPLimits = HTTPLimits(deadline: .seconds(60), responseBytes: 1 << 20)
) async -> Result<HTTPReply, ExperimentationError> {
    let request = HTTPRequest(
        method: method,
        scheme: "http",
        authority: "127.0.0.1:\(server.port)",
        path: path,
        headerFields: headers
    )
    do throws(ExperimentationError) {
        return .success(try await engine.make().send(request, body: Array(body.utf8), limits: limits))
    } catch {
        return .failure(error)
    }
}

extension Result where Failure == ExperimentationError {
    /// The error's code, if it failed.
    var code: ErrorCode? {
        if case .failure(let error) = self { error.code } else { nil }
    }
}

extension Result where Success == HTTPReply {
    /// The status, if it succeeded.
    var status: Int? { (try? get())?.status }
}
