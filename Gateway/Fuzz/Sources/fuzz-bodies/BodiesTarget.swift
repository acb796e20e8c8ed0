import Experimentation

@testable import GatewayBodies

/// Reads the body of an evaluation or of events; the first byte selects which, and the default for a user's consent.
///
/// The result is a user with an id, events and refusals, or an error of the protocol.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let start, count > 0 else { return 0 }
    let body = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    let consent: Consent = [.unknown, .granted, .denied][Int(start.pointee >> 1) % 3]
    do throws(ProtocolError) {
        if start.pointee & 1 == 0 {
            check(try EvaluationRequest(body: body, consent: consent))
        } else {
            for event in try EventsRequest(body: body, consent: consent).events { check(event) }
        }
    } catch {
        guard !error.details.isEmpty, [400, 413].contains(error.status.code) else { fatalError("\(error)") }
    }
    return 0
}

private func check(_ request: EvaluationRequest) {
    guard !request.user.id.isEmpty else { fatalError("a user without an id") }
    guard request.user.attributes["targetingKey"] == nil else { fatalError("the id is an attribute as well") }
}

private func check(_ event: Result<EventRequest, EventRefusal>) {
    switch event {
    case .success(let event):
        guard !event.id.isEmpty, event.id.utf8.count <= 200, !event.user.id.isEmpty else { fatalError("\(event)") }
    case .failure(let refusal):
        guard !refusal.message.isEmpty, !refusal.mayPass else { fatalError("\(refusal)") }
    }
}
