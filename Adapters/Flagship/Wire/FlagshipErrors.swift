import AdapterKit
import Experimentation
import Foundation

/// The meaning of the vendor's statuses.
enum FlagshipErrors {
    /// Returns why an answer to a read is invalid; `nil` if it is valid.
    static func failure(of reply: HTTPReply, asking what: String) -> ExperimentationError? {
        switch reply.status {
        // The environment is part of the path, and the only part that a setting can get wrong.
        case 400:
            ExperimentationError(
                .configuration,
                "Flagship doesn't know the environment, or refused the request for \(what) (400)",
                cause: RefusingStatus(400)
            )
        default: ReadFailure.of(status: reply.status, from: "Flagship", asking: what)
        }
    }

    /// Returns what became of the events whose request got this answer.
    ///
    /// The body is ignored, as in the vendor's SDKs, unless it is an HTML page, which comes from a captive portal and
    /// never from the vendor.
    static func verdict(on reply: HTTPReply, events count: Int, now: Date) -> Verdict {
        switch reply.status {
        case 200...299 where reply.isPage: .outage(because: .foreign)
        // The vendor refuses a whole request for one bad entry.
        case 400, 422:
            count > 1
                ? .split("Flagship refused the batch (\(reply.status))")
                : .failed("Flagship refused the event (\(reply.status))")
        default: DeliveryVerdict.of(reply, now: now)
        }
    }
}
