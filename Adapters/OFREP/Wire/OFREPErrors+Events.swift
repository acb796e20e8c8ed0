import AdapterKit
import Experimentation
import Foundation

extension OFREPErrors {
    /// Returns the verdicts on events according to the server's answer, in the order in which the events were sent.
    ///
    /// | Answer | Verdict |
    /// |---|---|
    /// | 200 or 503 that names each event: `accepted`, `repeated` | delivered |
    /// | … `refused` | rejected: the unchanged event is never accepted |
    /// | … `failed` | outage: it may be accepted later |
    /// | 200 without such a list | outage: something on the way answered |
    /// | any other status | as in `DeliveryVerdict.of(_:now:)` |
    ///
    /// - Parameters:
    ///   - count: The number of events that were sent.
    ///   - reply: The answer.
    ///   - now: The time of day, for a `Retry-After` that names a date.
    /// - Returns: A verdict for each event.
    static func report(on count: Int, _ reply: HTTPReply, now: Date) -> DeliveryReport {
        let isListed = reply.status == 200 || reply.status == 503
        let outcomes = isListed ? (try? JSON.parse(reply.body))?.objectValue?["events"]?.arrayValue : nil
        guard let outcomes, outcomes.count == count else {
            let isForeign = reply.status == 200
            return DeliveryReport(isForeign ? .outage(because: .foreign) : DeliveryVerdict.of(reply, now: now))
        }
        let later = reply.status == 503 ? DeliveryVerdict.of(reply, now: now) : .outage(because: .noAnswer)
        return DeliveryReport(
            outcomes.map { outcome in
                let members = outcome.objectValue ?? [:]
                return switch members["status"]?.stringValue {
                case "accepted", "repeated": .delivered
                case "refused": .rejected(members["errorDetails"]?.stringValue ?? "the server refuses it")
                default: later
                }
            }
        )
    }
}
