import AdapterKit
import Experimentation
import Foundation

/// Maps an answer to the verdict on its event.
enum EvergageErrors {
    /// Why events wait while it is unknown whether the vendor takes any.
    static let unknownSettings = OutageReason(rawValue: "its settings of this application can't be had")

    /// Returns the verdict on an event.
    ///
    /// | Answer | Verdict |
    /// |---|---|
    /// | 2xx, JSON, `errorCode` 0 or none | delivered |
    /// | 2xx, not JSON | not delivered: something in between answered |
    /// | `errorCode` 3 | busy: retried |
    /// | any other `errorCode` | refused |
    /// | 407, 408, 425, 429, 5xx, a redirect | retried, after `Retry-After` if there is one |
    /// | 401, 403 | access refused: delivery stops and everything is kept |
    /// | any other 4xx | refused |
    static func verdict(on reply: HTTPReply, answer: EvergageAnswer?, now: Date) -> Verdict {
        guard (200..<300).contains(reply.status) else { return verdict(onStatus: reply, now: now) }
        guard let answer else { return .outage(because: .foreign) }
        switch answer.errorCode {
        case 0: return .delivered
        case 3: return .outage(after: reply.retryAfter(at: now), because: .patience)
        case let code: return .rejected("errorCode \(code)\(meanings[code].map { " (\($0))" } ?? "")")
        }
    }

    /// Returns the verdict on view time, which is answered with a status in words.
    ///
    /// Any other answer with a success status is final: if sent again, the view time would count twice and hold up
    /// later events.
    static func verdict(onPing reply: HTTPReply, now: Date) -> Verdict {
        guard (200..<300).contains(reply.status) else { return verdict(onStatus: reply, now: now) }
        guard let status = (try? JSON.parse(reply.body))?.objectValue?["status"]?.stringValue else {
            return .rejected("an answer that can't be read")
        }
        return status == "OK" ? .delivered : .rejected("status \"\(status.prefix(20))\"")
    }

    private static func verdict(onStatus reply: HTTPReply, now: Date) -> Verdict {
        switch DeliveryVerdict.of(reply, now: now) {
        // An event that is wrong for this vendor stays wrong.
        case .failed, .split: .rejected(reply.status == 404 ? "status 404: unknown data set" : "status \(reply.status)")
        case let verdict: verdict
        }
    }

    private static let meanings = [
        1: "encrypted user id missing", 2: "encrypted user id invalid", 4: "anonymous id corrected", 5: "invalid event",
    ]
}
