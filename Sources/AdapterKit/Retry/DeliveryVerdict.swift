import Experimentation
import Foundation
import HTTPTypes

/// The meaning of a status or a transport error for the events that were sent.
///
/// The table is total: an unknown code is an outage, because nothing says that the events arrived. The adapter must
/// first read the body of a 200.
public enum DeliveryVerdict {
    /// Returns the verdict for a status alone.
    ///
    /// | Status | Verdict |
    /// |---|---|
    /// | 200–299 | delivered |
    /// | 408, 425, 429, 500–599 | outage: retried, without counting an attempt |
    /// | 413 | split: retried in halves |
    /// | 401, 403 | stop: until the credentials are corrected |
    /// | 407 | outage: from a proxy, not the vendor |
    /// | other 4xx | failed: retried, and counted |
    /// | 1xx, 3xx, anything else | outage: nothing was taken |
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - after: How long the vendor asked to wait.
    /// - Returns: The verdict on every event of the request.
    public static func of(status: Int, after: Duration? = nil) -> Verdict {
        switch status {
        case 200...299: .delivered
        case 413: .split("the vendor answered 413")
        case 401, 403: .stop(ExperimentationError(.unauthorized, "the vendor answered \(status)"))
        case 407, 408, 425, 429: .outage(after: after, because: OutageReason(status: status, after: after))
        case 400...499: .failed("the vendor answered \(status)")
        default: .outage(after: after, because: OutageReason(status: status, after: after))
        }
    }

    /// Returns the verdict for a reply's status and `Retry-After`.
    ///
    /// - Parameters:
    ///   - reply: The reply.
    ///   - now: The time of day, for a `Retry-After` that names a date.
    /// - Returns: The verdict on every event of the request.
    public static func of(_ reply: HTTPReply, now: Date) -> Verdict {
        of(status: reply.status, after: reply.retryAfter(at: now))
    }

    /// Returns the verdict for a transport error.
    ///
    /// An incomplete answer, and one too large to read to its end, are outages: the vendor may or may not have the
    /// events. An error in the settings or credentials stops. A request that couldn't be built is the event's own
    /// fault.
    public static func of(_ error: ExperimentationError) -> Verdict {
        switch error.code {
        case .transport, .timeout, .cancelled, .tooLarge, .shutDown, .disabled, .providerNotReady:
            .outage(because: OutageReason(error))
        case .configuration, .unauthorized, .providerFatal: .stop(error)
        case .unsupported, .consentDenied: .rejected(error.message)
        default: .failed(error.message)
        }
    }
}

extension OutageReason {
    /// Returns the reason for a status that takes nothing: a status with a wait asks for patience, and so does a bare
    /// 429.
    public init(status: Int, after: Duration?) {
        self = status == 429 || after != nil ? .patience : .answered(status)
    }

    /// Returns the reason for a transport error; an error made from a status has a `RefusingStatus` as its cause.
    public init(_ error: ExperimentationError) {
        if let cause = error.cause as? RefusingStatus {
            self.init(status: cause.status, after: cause.after)
            return
        }
        self =
            switch error.code {
            case .transport: .unreachable
            case .timeout: .timeout
            case .tooLarge: .tooLarge
            case .disabled: .disabled
            case .cancelled, .shutDown: .interrupted
            default: .noAnswer
            }
    }
}

/// The status behind an error, as its cause: the vendor answered but took nothing.
public struct RefusingStatus: Error, Sendable, Hashable {
    /// The status code.
    public var status: Int
    /// How long the vendor asked to wait, if it did.
    public var after: Duration?

    /// Creates a cause.
    public init(_ status: Int, after: Duration? = nil) {
        self.status = status
        self.after = after
    }
}
