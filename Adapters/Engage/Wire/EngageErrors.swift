import AdapterKit
import Experimentation
import Foundation

/// Maps statuses and faults to the framework's codes.
enum EngageErrors {
    /// Returns the error for a status; `nil` for a success.
    ///
    /// A status that is worth another attempt is a transport error, as in the original, because it isn't the XML
    /// interface that answered.
    static func error(status: Int, of operation: String) -> ExperimentationError? {
        let code: ErrorCode? =
            switch status {
            case 300..<400, 408, 425, 429, 500...: .transport
            default: ReadFailure.code(of: status)
            }
        return code.map { code in
            ExperimentationError(code, "\(operation): the vendor answered \(status)", cause: RefusingStatus(status))
        }
    }

    /// Returns the error for a fault, which the reference reports in a successful answer.
    static func error(_ fault: XMLAPIFault) -> ExperimentationError {
        let code: ErrorCode =
            switch fault.code {
            case .invalidSession, .invalidPermissions: .unauthorized
            case .listIdNotInteger, .listIdNotValid: .configuration
            default: .vendorFault
            }
        // The fault's text may contain an address or an id, so it stays in the cause.
        return ExperimentationError(code, "\(fault.operation): fault \(fault.code)", cause: fault)
    }

    /// Returns the verdict for a batch of behaviors from its reply.
    ///
    /// Refusals that concern the events count against them; other failures don't.
    static func verdict(on reply: HTTPReply, batch: Int, now: Date) -> Verdict {
        switch reply.status {
        case 200..<300:
            guard reply.body.contains(where: { $0 > 0x20 }) else { return .delivered }
            guard let answer = try? JSON.parse(reply.body) else { return .outage(because: .foreign) }
            guard let text = EngageWire.refusal(in: answer) else { return .delivered }
            return batch > 1 ? .split(text) : .failed(text)
        // The token was refused, and another one was already tried, so the vendor is at fault.
        case 401:
            let after = reply.retryAfter(at: now)
            return .outage(after: after, because: OutageReason(status: reply.status, after: after))
        // The host isn't Engage's, so no event is at fault.
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

    /// Returns the verdict for behaviors from a transport error.
    static func verdict(on error: ExperimentationError, after: Duration?) -> Verdict {
        switch error.code {
        case .configuration: .stop(error)
        // Two refused tokens may be the vendor's problem; refused credentials are a problem of the settings.
        case .unauthorized where !(error.cause is RefusedTokens): .stop(error)
        case .unauthorized: .outage(after: after, because: OutageReason(status: 401, after: after))
        default: .outage(after: after, because: after == nil ? OutageReason(error) : .patience)
        }
    }

    /// Returns the verdict for an opt-out from an error.
    ///
    /// Only a failure that the vendor would repeat counts against the opt-out: it isn't dropped because of the vendor's
    /// own failures, nor because of a list that has to be corrected.
    static func verdict(onOptOut error: ExperimentationError) -> Verdict {
        guard let fault = error.cause as? XMLAPIFault else {
            return error.code == .vendorFault ? .failed(error.message) : verdict(on: error, after: nil)
        }
        switch fault.code {
        // The recipient was opted out already.
        case .recipientOptedOut: return .delivered
        case .listIdNotInteger, .listIdNotValid: return .stop(error)
        default: return fault.isLasting ? .failed(error.message) : .outage(because: .fault(fault.code))
        }
    }
}

extension OutageReason {
    /// The XML interface reported a failure of its own with this code.
    static func fault(_ code: XMLAPIErrorCode) -> OutageReason {
        OutageReason(rawValue: "answered fault \(code.rawValue)")
    }
}

/// The vendor refused an access token and its replacement.
struct RefusedTokens: Error, Sendable {}
