import Experimentation
import Foundation
import HTTPTypes

/// What a status or an error of the transport means for the events that were sent.
///
/// The table is total: an unknown code is an outage, because nothing says that the events arrived. What
/// a vendor says inside a 200 is the adapter's to read first.
public enum DeliveryVerdict {
    /// Judges by status alone.
    ///
    /// | Status | Verdict |
    /// |---|---|
    /// | 200–299 | delivered |
    /// | 408, 425, 429, 500–599 | outage: again, at no cost to the event |
    /// | 413 | split: again in halves |
    /// | 401, 403 | stop: until the credentials are corrected |
    /// | 407 | outage: a proxy's, not the vendor's |
    /// | other 4xx | failed: again, and counted |
    /// | 1xx, 3xx, anything else | outage: nothing was taken |
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - after: How long the vendor asks to wait.
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

    /// Judges a reply by its status and its `Retry-After`.
    ///
    /// - Parameters:
    ///   - reply: The reply.
    ///   - now: The time of day, for a `Retry-After` that names a date.
    /// - Returns: The verdict on every event of the request.
    public static func of(_ reply: HTTPReply, now: Date) -> Verdict {
        of(status: reply.status, after: RetryAfter.wait(in: reply.response.headerFields, now: now))
    }

    /// Judges an error of sending.
    ///
    /// No complete answer, and an answer too large to read to its end, are outages: the vendor may have the events or
    /// not. A setting or a credential stops. A request that couldn't be made is the event's own fault.
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
    /// What a status says that takes nothing: a vendor that names a wait asks for patience, and so does a 429 without one.
    public init(status: Int, after: Duration?) {
        self = status == 429 || after != nil ? .patience : .answered(status)
    }

    /// What an error of sending says; a status that was made into an error is its ``RefusingStatus``.
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

/// The status behind an error: the cause of one that says that a vendor answered and did nothing.
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
