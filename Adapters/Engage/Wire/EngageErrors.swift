import AdapterKit
import Experimentation
import Foundation
import HTTPTypes

/// From statuses and faults to the framework's words.
enum EngageErrors {
    /// What a status means that isn't a success; `nil` for one that is.
    static func error(status: Int, of operation: String) -> ExperimentationError? {
        let cause = RefusingStatus(status)
        return switch status {
        case 200..<300: nil
        case 401, 403: ExperimentationError(.unauthorized, "\(operation): the vendor answered \(status)")
        case 413: ExperimentationError(.tooLarge, "\(operation): the vendor answered 413")
        case 408, 425, 429, 500...:
            ExperimentationError(.transport, "\(operation): the vendor answered \(status)", cause: cause)
        case 300..<400:
            ExperimentationError(
                .transport,
                "\(operation): the vendor answered a redirect (\(status)), which isn't followed",
                cause: cause
            )
        default: ExperimentationError(.vendorFault, "\(operation): the vendor answered \(status)")
        }
    }

    /// What the reference calls a failure in a successful answer.
    static func error(_ fault: XMLAPIFault) -> ExperimentationError {
        let code: ErrorCode =
            switch fault.code {
            case .invalidSession, .invalidPermissions: .unauthorized
            case .listIdNotInteger, .listIdNotValid: .configuration
            default: .vendorFault
            }
        // The fault's text may name an address or an id: it stays in the cause.
        return ExperimentationError(code, "\(fault.operation): fault \(fault.code)", cause: fault)
    }

    /// How long a reply asks to wait.
    static func wait(asked reply: HTTPReply, now: Date) -> Duration? {
        RetryAfter.wait(in: reply.response.headerFields, now: now)
    }

    /// What a reply to a batch of behaviours says of them.
    ///
    /// Refusals of their own count against events; what says nothing about them doesn't.
    static func verdict(on reply: HTTPReply, batch: Int, now: Date) -> Verdict {
        switch reply.status {
        case 200..<300:
            return EngageWire.refusal(in: reply).map { refusal in
                switch refusal {
                case .foreign: .outage(because: .foreign)
                case .stated(let text): batch > 1 ? .split(text) : .failed(text)
                }
            } ?? .delivered
        // The token's matter, and another one was tried already; the vendor's own fault, then.
        case 401:
            let after = wait(asked: reply, now: now)
            return .outage(after: after, because: OutageReason(status: reply.status, after: after))
        // The host isn't Engage's: no event is to blame.
        case 404, 405:
            return .stop(ExperimentationError(.configuration, "the host takes no behaviours (\(reply.status))"))
        default: break
        }
        switch DeliveryVerdict.of(reply, now: now) {
        case .split(let reason): return batch > 1 ? .split(reason) : .rejected(reason)
        case .failed(let reason): return batch > 1 ? .split(reason) : .failed(reason)
        case let verdict: return verdict
        }
    }

    /// What an error on the way means for the behaviours.
    static func verdict(on error: ExperimentationError, after: Duration?) -> Verdict {
        switch error.code {
        case .configuration: .stop(error)
        // Two refused tokens may be the vendor's trouble; refused credentials are the settings'.
        case .unauthorized where !(error.cause is RefusedTokens): .stop(error)
        case .unauthorized: .outage(after: after, because: OutageReason(status: 401, after: after))
        default: .outage(after: after, because: after == nil ? OutageReason(error) : .patience)
        }
    }
}

/// That the vendor refused an access token and the one that replaced it.
struct RefusedTokens: Error, Sendable {}
