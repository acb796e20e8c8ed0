import AdapterKit
import Experimentation
import Foundation
import HTTPTypes

/// Answers every request with the same bytes, except for the token requests of some vendors.
struct SameAnswer: HTTPTransport {
    let body: [UInt8]

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        let isToken = request.path?.contains("oauth/token") == true
        let token = Array(#"{"access_token":"t","token_type":"bearer","expires_in":14400}"#.utf8)
        return HTTPReply(
            response: HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"]),
            body: isToken && self.body.first != UInt8(ascii: "!") ? token : self.body
        )
    }
}

/// Lets an adapter read an answer in each of its roles.
///
/// - Parameters:
///   - start: The answer's bytes.
///   - count: Their number.
///   - make: Creates the adapter with a transport.
public func readAnswer(
    _ start: UnsafePointer<UInt8>?,
    _ count: Int,
    provider make: @escaping @Sendable (any HTTPTransport) throws -> any ExperimentationProvider
) {
    let transport = SameAnswer(body: Array(UnsafeBufferPointer(start: start, count: count)))
    let done = DispatchSemaphore(value: 0)
    Task {
        if let provider = try? make(transport) { await play(provider) }
        done.signal()
    }
    done.wait()
}

private func play(_ provider: any ExperimentationProvider) async {
    let user = User(id: "u", anonymousID: "a")
    let date = Date(timeIntervalSince1970: 1_795_255_200)
    let context = EvaluationContext(user: user, date: date)
    guard let roles = try? await provider.start(in: ProviderContext()) else { return }
    switch roles.decisions {
    case .asked(let source):
        _ = try? await source.decisions(for: context)
    case .computed(let source):
        if case .replaced(let ruleset, _, let raw) = try? await source.ruleset(ifNot: nil) {
            _ = ruleset.decisions(for: context)
            _ = try? source.ruleset(restoring: raw)
        }
    default: break
    }
    if let sink = roles.events {
        let identity = Identity(id: "u", anonymousID: "a")
        let event = Envelope(id: "1", identity: identity, event: .custom("e"), date: date)
        _ = await sink.deliver([event])
    }
    if let linker = roles.identity {
        let progress = LinkProgress(from: Identity(id: "a"), to: Identity(id: "u", anonymousID: "a"))
        _ = try? await linker.advance(progress)
    }
}
